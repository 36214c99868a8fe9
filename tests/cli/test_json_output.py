"""What verbs print with --json names its format and fits the published schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia.cli.printing import document
from tests.docs.schemas import SCHEMAS, validator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan, results of an experiment, and keys."""
    made = tmp_path_factory.mktemp("made")
    assert main(["solve", "fig1", "-o", str(made / "plan.json")]) == 0
    assert main(["run", "table2", "--backend", "flow", "-o", str(made / "results")]) == 0
    assert main(["pki", "authority", "--folder", str(made / "keys")]) == 0
    return made


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("topology fig1", "topology-summary"),
        ("demands fig1 --model uniform", "demands"),
        ("compile plan.json", "tables"),
        ("verify plan.json", "verification"),
        ("trace plan.json s1->s4", "trace"),
        ("pki list --folder keys", "pki"),
        ("list", "experiments"),
        ("run table2 --backend flow -o again", "run"),
        ("report results", "report"),
        ("reproduce kuijia --only fig6 -o paper", "reproduction"),
        ("reproduce kuijia --list", "commands"),
        ("manual pages", "manual"),
        ("doctor", "doctor"),
        ("packet single-switch:4 --flows 4 --load 0.1", "packet"),
        ("whatif fig1 --backend packet --seconds 0.01 --failures s1-s2 --schemes kuijia", "whatif-packets"),
    ],
)
def test_what_a_verb_prints_fits_the_schema(
    command: str, kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert main([*command.split(), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["format"] == f"kuijia-{kind}"
    assert [error.message for error in validator("output").iter_errors(printed)] == []


def test_every_kind_of_output_is_in_the_schema() -> None:
    program = "".join(path.read_text() for path in (ROOT / "kuijia" / "cli").glob("*.py"))
    known = json.loads((SCHEMAS / "output.schema.json").read_text())["properties"]["format"]["enum"]
    kinds = re.findall(r'(?:print_json|document)\(\s*"([a-z-]+)"', program)
    assert len(kinds) > 20
    assert {f"kuijia-{kind}" for kind in kinds} <= set(known)


def test_the_schema_wants_every_key_that_it_lists() -> None:
    for case in json.loads((SCHEMAS / "output.schema.json").read_text())["allOf"]:
        kind = case["if"]["properties"]["format"]["const"].removeprefix("kuijia-")
        missing = [error.message for error in validator("output").iter_errors(document(kind, {}))]
        assert len(missing) == len(case["then"]["required"])
