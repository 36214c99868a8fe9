"""One database that does not answer keeps nobody from examining, preparing and restoring the other switches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.preparation import runner
from kuijia_app.preparation.runner import Databases, restore, survey
from kuijia_app.preparation.session_ports import SessionPorts
from kuijia_app.tables.needs import needs_of
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import TestbedError
from te_solver.formats.plan_file import save_plan
from tests.kuijia_app.plans import plan_of
from tests.kuijia_app.preparation.test_examination import LINE, answer, database

SILENT = "tcp:192.0.2.1:6640"
PLAN = plan_of(LINE, "a-b")
DATABASES = Databases("tcp:192.0.2.7:6640", {"b": SILENT})


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Give a's database the rows of a bare switch and let b's be silent; return the other commands."""
    others: list[Sequence[str]] = []

    def run(argv: Sequence[str], stdin: str | None = None) -> str:
        del stdin
        if argv[0] in ("ip", "tc"):
            return "[]"
        if f"--db={SILENT}" in argv:
            raise TestbedError(f"`ovs-vsctl` failed: ovs-vsctl: {SILENT}: database connection failed (refused)")
        if "list" in argv:
            return answer(database(prepared=False))
        others.append(argv)
        return ""

    monkeypatch.setattr(runner, "run_command", run)
    return others


def test_check_names_the_switch_without_an_answer_beside_what_others_lack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_plan(PLAN, tmp_path / "plan.json")
    wiring = tmp_path / "wiring.yaml"
    wiring.write_text(
        "version: 1\nswitches:\n"
        "  a: {datapath_id: 1, links: {b: 1}, host: {port: 2, prefixes: [10.0.1.0/24], address: 10.0.1.1}}\n"
        "  b: {datapath_id: 2, links: {a: 1}, host: {port: 2, prefixes: [10.0.2.0/24], address: 10.0.2.1},"
        f" ovsdb: '{SILENT}'}}\n"
    )
    words = ["switches", "check", str(tmp_path / "plan.json"), "--wiring", str(wiring), "--ovsdb", DATABASES.address]
    assert main([*words, "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert (printed["format"], printed["version"]) == ("kuijia-switches", 1)
    (silent,) = [each for each in printed["missing"] if each["switch"] == "b"]
    assert silent["text"] == f"{SILENT}: database connection failed (refused)"
    assert not silent["is_preparable"]
    assert any(each["switch"] == "a" and "fail mode" in each["text"] for each in printed["missing"])


def test_restore_and_sessions_of_a_plan_fail_after_the_others() -> None:
    needs = needs_of(PLAN, PipelineOptions(), Wiring(LINE))
    assert [bool(switch.silence) for switch in survey(needs, DATABASES)] == [False, True]
    with pytest.raises(TestbedError, match=f"^b: {SILENT}: database connection failed"):
        restore(needs, DATABASES)
    options = PipelineOptions(liveness=Liveness.BFD)
    with pytest.raises(TestbedError, match=f"^b: {SILENT}: database connection failed"):
        SessionPorts(DATABASES, options, Wiring(LINE), 30).supply(PLAN)


def test_restore_fails_after_the_others_for_a_switch_without_a_bridge() -> None:
    needs = needs_of(PLAN, PipelineOptions(), Wiring(LINE))
    with pytest.raises(TestbedError, match=r"^b: no bridge has datapath id 0000000000000002 at "):
        restore(needs, Databases(DATABASES.address))


def test_no_answer_at_all_is_one_line() -> None:
    needs = needs_of(PLAN, PipelineOptions(), Wiring(LINE))
    with pytest.raises(TestbedError, match=f"^{SILENT}: database connection failed"):
        survey(needs, Databases(SILENT))
