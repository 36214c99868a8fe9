from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kuijia
from docs.site import reference_pages

SLOW = {"cvxpy", "highspy", "matplotlib", "mininet", "networkx", "numpy", "os_ken", "pandas", "rich", "scipy"}


def modules_after(code: str) -> set[str]:
    """Return the packages that a new interpreter has imported after some code."""
    program = f"{code}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(outcome.stdout.split())


def test_importing_it_imports_nothing_else() -> None:
    seen = modules_after("import kuijia")
    assert not seen & {*SLOW, "te_solver", "kuijia_base", "experiments", "argparse"}


def test_importing_it_takes_less_than_a_tenth_of_a_second() -> None:
    program = "import time; start = time.process_time(); import kuijia; print(time.process_time() - start)"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(outcome.stdout) < 0.1


def test_no_name_of_it_brings_the_optimiser_or_a_controller_along_before_it_is_called() -> None:
    seen = modules_after("import kuijia\nfor name in kuijia.__all__: getattr(kuijia, name)")
    assert "te_solver" in seen
    assert not seen & {"cvxpy", "highspy", "matplotlib", "mininet", "os_ken", "pandas"}


def test_a_mistyped_name_is_asked_about() -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", "import kuijia; kuijia.slove"], capture_output=True, text=True, check=False
    )
    assert "Did you mean: 'solve'?" in outcome.stderr


def test_every_name_is_there_and_listed() -> None:
    assert set(kuijia._MODULES) == set(kuijia.__all__)
    assert set(kuijia.__all__) <= set(dir(kuijia))
    assert all(getattr(kuijia, name) is not None for name in kuijia.__all__)


def test_types_and_lazy_names_lead_to_the_same_modules() -> None:
    tree = ast.parse(Path(kuijia.__file__).read_text(encoding="utf-8"))
    (typed,) = (node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    imports = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {name: (module, kuijia._NAMES_THERE.get(name, name)) for name, module in kuijia._MODULES.items()}
    assert imports == lazy


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'kuijia' has no attribute 'solv'$"):
        kuijia.solv  # type: ignore[attr-defined]  # noqa: B018


def test_it_knows_its_version() -> None:
    assert kuijia.__version__.count(".") == 2


def test_names_that_come_from_elsewhere_are_described_on_the_pages_of_their_modules() -> None:
    elsewhere = {name for name, module in kuijia._MODULES.items() if not module.startswith("kuijia.")}
    assert set(reference_pages._ELSEWHERE) == elsewhere
    pages = {module for modules in reference_pages.PUBLIC.values() for module in modules}
    assert {kuijia._MODULES[name] for name in elsewhere} <= pages


def test_a_plan_in_parts_needs_no_compiler_of_programs() -> None:
    assert "cvxpy" not in modules_after("import kuijia; kuijia.solve('gscale', partitions=2)")
