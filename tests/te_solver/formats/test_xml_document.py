from __future__ import annotations

from pathlib import Path

import pytest

from te_solver.formats import xml_document
from te_solver.formats.xml_document import read_xml
from tests.te_solver.formats.reading import complaint

NO_DOCUMENT_TYPE = "a document type, expected XML without <!DOCTYPE and without entities of its own"


def test_elements_know_their_lines_and_are_named_without_namespace(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_text('<?xml version="1.0"?>\n<n:a xmlns:n="u" n:k="v">\n  <n:b> one &amp;\n two </n:b><c/></n:a>')
    root = read_xml(path, "a", "an a")
    assert (root.tag, root.attributes, root.line) == ("a", {"k": "v"}, 2)
    child = root.first("b")
    assert child is not None
    assert (child.text, child.line) == ("one &\n two", 3)
    assert [element.line for element in root.all("c")] == [4]
    assert root.first("d") is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "cp1252"])
def test_the_declared_encoding_counts(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.xml"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?><a>Zürich</a>'.encode(encoding))
    assert read_xml(path, "a", "an a").text == "Zürich"


@pytest.mark.parametrize(
    "document_type",
    [
        '<!DOCTYPE graphml [\n<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">\n]>',
        '<!DOCTYPE graphml [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE graphml SYSTEM "http://127.0.0.1:9/x.dtd">',
    ],
)
def test_neither_entities_nor_other_files_are_followed(tmp_path: Path, document_type: str) -> None:
    said = complaint(tmp_path / "x.graphml", f"\n{document_type}<graphml>&b;</graphml>")
    assert said == f":2: {NO_DOCUMENT_TYPE}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<graphml>\n</b>", ":2: malformed XML (mismatched tag), expected a topology in GraphML"),
        (
            b"<graphml>\n&unknown;</graphml>",
            ":2: malformed XML (undefined entity), expected a topology in GraphML",
        ),
        (
            b"<graphml>\n\xff</graphml>",
            ":2: malformed XML (not well-formed (invalid token)), expected a topology in GraphML",
        ),
        (
            b'<?xml version="1.0" encoding="no-such"?><graphml/>',
            ":1: malformed XML (unknown encoding: no-such), expected text in UTF-8",
        ),
        (
            b'<?xml version="1.0" encoding="shift_jis"?><graphml/>',
            ":1: malformed XML (multi-byte encodings are not supported), expected text in UTF-8",
        ),
        (b"<graphml>" * 101, ":1: nested too deeply, expected at most 100 levels"),
    ],
)
def test_a_bad_document_is_refused_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    assert complaint(tmp_path / "x.graphml", content) == said


def test_a_document_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_document, "LARGEST_BYTES", 20)
    assert complaint(tmp_path / "x.graphml", "<graphml>" + " " * 20 + "</graphml>") == ": 39 bytes, expected at most 20"


def test_a_document_of_too_many_elements_is_refused_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("te_solver.formats.xml_document.MOST_ELEMENTS", 3)
    said = complaint(tmp_path / "x.graphml", "<graphml>\n<a/>\n<a/>\n<a/>\n<")
    assert said == ":4: too many elements, expected at most 3 in a file"
