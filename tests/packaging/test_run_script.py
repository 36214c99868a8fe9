"""`./run`: its words, and what its set-up does first, does again, and leaves alone.

The set-up runs on a copy of the scripts in which Python, pip and Debian's tools are stand-ins that write down how they
were called.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
STEPS = [
    "making .venv of {python}",
    "updating pip in .venv",
    "installing Python packages at their locked versions",
    "installing kuijia into .venv",
]

PYTHON = """#!/bin/sh
here=$(dirname "$0")
case "$*" in
    '-m venv '*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *getsitepackages*) echo "$here" ;;
    *--editable*) cp "$SANDBOX/kuijia" "$here/kuijia" ;;
    *--requirement*) if [ -e "$SANDBOX/offline" ]; then echo 'no route to host'; exit 1; fi ;;
esac
"""

KUIJIA = """#!/bin/sh
echo "arguments: $*"
env | grep -E '^(PIP_|PYTHON|VIRTUAL_ENV)'
exit 7
"""

INSTALL_DEBIAN = """#!/bin/sh
echo "$*" >"$SANDBOX/installed"
: >"$SANDBOX/missing"
"""

DPKG_QUERY = """#!/bin/sh
for package; do
    case "$package" in
        -*) ;;
        *) grep -qx "$package" "$SANDBOX/missing" || echo "$package installed" ;;
    esac
done
"""


@dataclass(frozen=True)
class Clone:
    """A copy of the scripts with stand-ins for the programs that they call."""

    path: Path

    def run(self, *arguments: str, as_nobody: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("LANG", "HOME") if name in os.environ}
        search = f"{self.path}/programs:/usr/bin:/bin"
        return subprocess.run(
            [self.path / "run", *arguments],
            env={**kept, "PATH": search, "SANDBOX": str(self.path), **environment},
            user=NOBODY if as_nobody else None,
            group=NOBODY if as_nobody else None,
            extra_groups=[] if as_nobody else None,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def steps(self) -> list[str]:
        return [step.format(python=self.path / "python3") for step in STEPS]

    def write_program(self, name: str, text: str) -> None:
        file = self.path / name
        file.write_text(text)
        file.chmod(0o755)


@pytest.fixture
def clone() -> Iterator[Clone]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory).resolve()
        path.chmod(0o755)
        (path / "requirements").mkdir()
        (path / "programs").mkdir()
        (path / "missing").write_text("")
        (path / "pyproject.toml").write_text("[project]\n")
        (path / "setup.py").write_text("setup()\n")
        for file in ("build.txt", "lock.txt", "debian.txt"):
            (path / "requirements" / file).write_bytes((ROOT / "requirements" / file).read_bytes())
        clone = Clone(path)
        clone.write_program("run", (ROOT / "run").read_text().replace("=/usr/bin/python3 ", f"={path}/python3 "))
        clone.write_program("python3", PYTHON)
        clone.write_program("kuijia", KUIJIA)
        clone.write_program("programs/dpkg-query", DPKG_QUERY)
        yield clone


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_names_every_word_and_sets_nothing_up(clone: Clone, word: str) -> None:
    outcome = clone.run(word)
    assert outcome.returncode == 0
    assert outcome.stderr == ""
    assert all(
        f"\n  {known} " in outcome.stdout for known in ("demo", "test", "bench", "fuzz", "mutants", "docs", "kuijia")
    )
    assert not (clone.path / ".venv").exists()


def test_an_unknown_word_is_refused_with_the_usage(clone: Clone) -> None:
    outcome = clone.run("tset")
    assert outcome.returncode == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("usage: ./run")
    assert outcome.stderr.endswith(
        "error: tset: no such word, expected demo, test, bench, fuzz, mutants, docs or kuijia\n"
    )
    assert not (clone.path / ".venv").exists()


def test_no_word_is_refused_with_the_usage(clone: Clone) -> None:
    outcome = clone.run()
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("usage: ./run")


def test_bench_runs_the_benchmarks_of_the_clone_wherever_it_is_called_from(clone: Clone) -> None:
    (clone.path / "benchmarks").mkdir()
    (clone.path / "benchmarks" / "__main__.py").write_text("import sys\nprint(sys.argv[1:])\n")
    assert clone.run("kuijia").returncode == 7
    clone.write_program(".venv/bin/python", '#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
    outcome = clone.run("bench", "te-resolve", "--json")
    assert outcome.stdout == "['te-resolve', '--json']\n"


def test_fuzz_runs_the_fuzzers_of_the_clone_wherever_it_is_called_from(clone: Clone) -> None:
    (clone.path / "tests" / "fuzz").mkdir(parents=True)
    (clone.path / "tests" / "fuzz" / "__main__.py").write_text("import sys\nprint(sys.argv[1:])\n")
    assert clone.run("kuijia").returncode == 7
    clone.write_program(".venv/bin/python", '#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
    outcome = clone.run("fuzz", "--minutes", "2", "plan:json")
    assert outcome.stdout == "['--minutes', '2', 'plan:json']\n"


def test_docs_installs_what_it_needs_once(clone: Clone) -> None:
    (clone.path / "docs" / "site").mkdir(parents=True)
    (clone.path / "docs" / "site" / "__main__.py").write_text("import sys\nprint(sys.argv[1:])\n")
    (clone.path / "requirements" / "docs.txt").write_text("sphinx==0\n")
    assert clone.run("kuijia").returncode == 7
    clone.write_program(
        ".venv/bin/python",
        '#!/bin/sh\ncase "$*" in *docs.txt) exit "${OFFLINE:-0}" ;; esac\nexec /usr/bin/python3 "$@"\n',
    )
    installing = "installing what the documentation is built with"
    assert clone.run("docs", OFFLINE="1").returncode == 1
    first = clone.run("docs", "there")
    assert (first.stdout, first.stderr) == ("['there']\n", f"{installing}\n")
    again = clone.run("docs", "there")
    assert (again.stdout, again.stderr) == ("['there']\n", "")


def test_fuzz_goes_on_without_what_guides_it_by_coverage(clone: Clone) -> None:
    (clone.path / "tests" / "fuzz").mkdir(parents=True)
    (clone.path / "tests" / "fuzz" / "__main__.py").write_text("print('fuzzing')\n")
    (clone.path / "requirements" / "coverage.txt").write_text("atheris==0\n")
    assert clone.run("kuijia").returncode == 7
    clone.write_program(
        ".venv/bin/python",
        '#!/bin/sh\ncase "$*" in *pip*) exit 1 ;; *import*) exit 1 ;; esac\nexec /usr/bin/python3 "$@"\n',
    )
    outcome = clone.run("fuzz", "--coverage")
    assert "note: atheris cannot be installed, so --coverage is not available" in outcome.stderr.splitlines()
    assert outcome.stdout == "fuzzing\n"


TESTS_BY_PART = """#!/bin/sh
echo "tests: $*"
case "$*" in
    *'--part beside -k some') exit "$BESIDE" ;;
    *'--part beside --last-failed -k some') exit "$ALONE" ;;
    *'--part chaos --capture=no -k some') exit "$CHAOS" ;;
    *'--part alone -k some') exit "$ALONE" ;;
    *'--part spare -k some') chrt --pid $$; exit "$SPARE" ;;
esac
exit 9
"""


@pytest.mark.parametrize(
    ("beside", "chaos", "alone", "spare", "status", "parts"),
    [
        (0, 0, 0, 0, 0, 4),
        (5, 5, 5, 5, 5, 4),
        (5, 5, 0, 5, 0, 4),
        (0, 1, 0, 0, 1, 4),
        (0, 0, 1, 0, 1, 4),
        (0, 0, 0, 1, 1, 4),
        (5, 5, 5, 4, 4, 4),
        (2, 0, 0, 0, 2, 1),
    ],
)
def test_test_runs_all_parts_and_fails_with_any(
    clone: Clone, beside: int, chaos: int, alone: int, spare: int, status: int, parts: int
) -> None:
    assert clone.run("kuijia").returncode == 7
    clone.write_program(".venv/bin/python", TESTS_BY_PART)
    outcome = clone.run("test", "-k", "some", BESIDE=str(beside), CHAOS=str(chaos), ALONE=str(alone), SPARE=str(spare))
    assert outcome.returncode == status
    assert outcome.stdout.count("tests: -m pytest ") == parts
    assert ("SCHED_IDLE" in outcome.stdout) == (parts == 4)


@pytest.mark.parametrize("again", [0, 1])
def test_tests_that_fail_beside_others_run_again_and_fail_if_they_fail_by_themselves(clone: Clone, again: int) -> None:
    assert clone.run("kuijia").returncode == 7
    clone.write_program(".venv/bin/python", TESTS_BY_PART.replace('exit "$ALONE" ;;', f"exit {again} ;;", 1))
    outcome = clone.run("test", "-k", "some", BESIDE="1", CHAOS="0", ALONE="0", SPARE="0")
    assert outcome.returncode == again
    assert "run again by themselves" in outcome.stderr
    caches = {line.split("cache_dir=")[1].split()[0] for line in outcome.stdout.splitlines() if "--part beside" in line}
    assert len(caches) == 1  # the second run reads there what failed in the first one


def test_the_first_run_sets_up_and_the_second_has_nothing_to_do(clone: Clone) -> None:
    assert clone.run("kuijia").stderr.splitlines() == clone.steps
    assert clone.run("kuijia").stderr == ""


def test_arguments_and_exit_status_are_those_of_the_command(clone: Clone) -> None:
    outcome = clone.run("kuijia", "solve", "a file", "--json")
    assert outcome.returncode == 7
    assert outcome.stdout.splitlines()[0] == "arguments: solve a file --json"


def test_a_link_to_the_script_finds_its_clone(clone: Clone) -> None:
    (clone.path / "elsewhere").mkdir()
    (clone.path / "elsewhere" / "run").symlink_to("../run")
    outcome = Clone(clone.path / "elsewhere").run(
        "kuijia", SANDBOX=str(clone.path), PATH=f"{clone.path}/programs:/usr/bin:/bin"
    )
    assert outcome.stderr.splitlines() == clone.steps
    assert (clone.path / ".venv" / "bin" / "kuijia").exists()


def test_a_set_up_that_failed_shows_why_and_is_begun_again(clone: Clone) -> None:
    (clone.path / "offline").touch()
    failed = clone.run("kuijia")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert "no route to host" in failed.stderr
    assert failed.stderr.splitlines()[-1].startswith("error: set-up failed at: pip_install ")
    (clone.path / "offline").unlink()
    assert clone.run("kuijia").stderr.splitlines() == clone.steps


def test_a_half_made_venv_is_made_again_from_nothing(clone: Clone) -> None:
    left = clone.path / ".venv" / "lib" / "left-by-an-interrupted-set-up"
    left.mkdir(parents=True)
    assert clone.run("kuijia").stderr.splitlines() == clone.steps
    assert not left.exists()


@pytest.mark.parametrize("file", ["lock.txt", "build.txt"])
def test_other_locked_versions_make_the_venv_again(clone: Clone, file: str) -> None:
    clone.run("kuijia")
    with (clone.path / "requirements" / file).open("a") as lock:
        lock.write("# another\n")
    assert clone.run("kuijia").stderr.splitlines() == clone.steps


def test_a_moved_clone_makes_its_venv_again(clone: Clone, tmp_path: Path) -> None:
    clone.run("kuijia")
    moved = Clone(tmp_path / "moved")
    clone.path.rename(moved.path)
    (moved.path / "run").write_text((moved.path / "run").read_text().replace(str(clone.path), str(moved.path)))
    outcome = moved.run("kuijia")
    moved.path.rename(clone.path)
    assert outcome.stderr.splitlines() == moved.steps


def test_other_metadata_installs_only_the_project_again(clone: Clone) -> None:
    clone.run("kuijia")
    (clone.path / "setup.py").write_text("setup(version=2)\n")
    assert clone.run("kuijia").stderr.splitlines() == clone.steps[-1:]


@pytest.mark.parametrize("folder", ["simulator/flow/core", "simulator/packet/core/queues", "hedera/core"])
def test_other_sources_of_a_compiled_core_install_only_the_project_again(clone: Clone, folder: str) -> None:
    core = clone.path / folder
    core.mkdir(parents=True)
    (core / "share.cpp").write_text("int one();\n")
    clone.run("kuijia")
    assert clone.run("kuijia").stderr == ""
    (core / "share.cpp").write_text("int two();\n")
    assert clone.run("kuijia").stderr.splitlines() == clone.steps[-1:]


def test_the_environment_of_other_pythons_stays_outside(clone: Clone) -> None:
    outcome = clone.run(
        "kuijia",
        PYTHONPATH="/elsewhere",
        PYTHONHOME="/elsewhere",
        PYTHONDONTWRITEBYTECODE="/elsewhere",
        VIRTUAL_ENV="/elsewhere",
        PIP_TARGET="/elsewhere",
        PIP_USER="1",
        PIP_CONSTRAINT="/elsewhere",
    )
    assert "/elsewhere" not in outcome.stdout
    assert "PIP_USER=0" in outcome.stdout.splitlines()


def test_where_pip_finds_packages_is_left_to_the_user(clone: Clone) -> None:
    outcome = clone.run("kuijia", PIP_INDEX_URL="https://index.example/simple", PIP_CERT="/some/where.pem")
    assert {"PIP_INDEX_URL=https://index.example/simple", "PIP_CERT=/some/where.pem"} <= set(
        outcome.stdout.splitlines()
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs Debian packages")
def test_root_installs_just_the_missing_debian_packages(clone: Clone) -> None:
    (clone.path / "missing").write_text("iperf3\nmininet\n")
    clone.write_program("requirements/install-debian", INSTALL_DEBIAN)
    assert clone.run("kuijia").stderr.splitlines() == ["installing Debian packages: iperf3 mininet", *clone.steps]
    assert (clone.path / "installed").read_text() == "iperf3 mininet\n"
    assert clone.run("kuijia").stderr == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
class TestAsSomebodyWithoutRights:
    @pytest.fixture
    def clone(self, clone: Clone) -> Clone:
        clone.write_program("programs/sudo", "#!/bin/sh\necho 'nobody is not in the sudoers file' >&2\nexit 1\n")
        for path in (clone.path, *clone.path.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        return clone

    def test_missing_debian_packages_are_named_and_the_rest_goes_on(self, clone: Clone) -> None:
        (clone.path / "missing").write_text("iperf3\n")
        outcome = clone.run("kuijia", as_nobody=True)
        note = "note: neither root nor a usable sudo, so these Debian packages stay missing: iperf3"
        assert outcome.stderr.splitlines() == [note, *clone.steps]
        assert outcome.returncode == 7
        assert clone.run("kuijia", as_nobody=True).stderr.splitlines() == [note]

    def test_demo_runs_the_fluid_model_and_says_so(self, clone: Clone) -> None:
        clone.run("kuijia", as_nobody=True)
        outcome = clone.run("demo", "--quick", as_nobody=True)
        assert outcome.stderr.startswith("note: neither root nor a usable sudo, which emulated switches need: ")
        calls = [line for line in outcome.stdout.splitlines() if line.startswith("arguments: ")]
        assert calls == [
            f"arguments: run {table} --backend flow -o results/demo-flow --quick" for table in ("table2", "table3")
        ]

    def test_somebody_elses_clone_is_not_written_to(self, clone: Clone) -> None:
        os.chown(clone.path, 0, 0)
        outcome = clone.run("kuijia", as_nobody=True)
        assert outcome.returncode == 1
        assert outcome.stderr.endswith("'s to write, expected the owner of the clone or root\n")

    def test_what_root_writes_into_the_clone_belongs_to_its_owner(self, clone: Clone) -> None:
        clone.run("kuijia")
        assert {path.lstat().st_uid for path in (clone.path / ".venv").rglob("*")} == {NOBODY}
        assert clone.run("kuijia", as_nobody=True).stderr == ""
