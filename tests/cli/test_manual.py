"""Man pages have what the parsers have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia.cli.manual import man_pages
from kuijia.cli.parsers import whole_parser
from kuijia.cli.verbs import VERBS


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return man_pages(whole_parser(), "9.9")


def test_every_verb_has_a_page(pages: dict[str, str]) -> None:
    assert set(pages) == {"kuijia.1", *(f"kuijia-{verb}.1" for verb in VERBS)}
    assert all(page.startswith(".TH KUIJIA") and page.endswith("\n") for page in pages.values())


def test_a_page_has_arguments_options_and_their_defaults(pages: dict[str, str]) -> None:
    page = pages["kuijia-solve.1"].replace("\\-", "-")
    assert "kuijia-solve - choose tunnels for demands and divide the traffic over them" in page
    assert "\\fBkuijia solve\\fR [\\fIOPTION\\fR]... \\fITOPOLOGY\\fR [\\fIDEMANDS\\fR]" in page
    assert "\\fB--tunnels\\fR \\fIK\\fR\ntunnels per pair, edge-disjoint where possible (default: 3)" in page
    assert "--capacity" not in page.replace("--default-capacity", "")


def test_actions_of_a_verb_are_sections_of_its_page(pages: dict[str, str]) -> None:
    page = pages["kuijia-topology.1"]
    assert ".SH KUIJIA TOPOLOGY DESCRIBE" in page
    assert ".SH KUIJIA TOPOLOGY CONVERT" in page


def test_no_text_is_taken_for_a_request(pages: dict[str, str]) -> None:
    requests = (".TH ", ".SH ", ".SS ", ".TP")
    for page in pages.values():
        lines = page.splitlines()
        assert all(line.startswith(requests) for line in lines if line.startswith((".", "'")))
        assert all(lines)


def test_pages_are_written_into_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manual", str(tmp_path / "man1"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pages"] == sorted(each.name for each in (tmp_path / "man1").iterdir())
