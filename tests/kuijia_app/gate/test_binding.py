"""The file of `--tls-bind` says which certificates may speak for which datapath ids, or what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_app.gate.binding import load_binding
from kuijia_base.errors import InputError

A, B = "a1" * 32, "b2" * 32


def written(folder: Path, text: str) -> Path:
    path = folder / "bind.txt"
    path.write_text(text)
    return path


def test_a_line_has_an_id_and_a_fingerprint_as_openssl_prints_it(tmp_path: Path) -> None:
    colons = ":".join(["A1"] * 32)
    text = f"# switches\n1 {A}\n0x0000000000000002 sha256={B}   # the new one\n\n2 SHA256={colons}\n"
    assert load_binding(written(tmp_path, text)) == {1: {A}, 2: {A, B}}


@pytest.mark.parametrize(
    ("text", "place", "complaint"),
    [
        ("", "", "binds no datapath id"),
        (f"1 {A}\n2\n", ":2", "found 1 words"),
        (f"1 {A} {B}\n", ":1", "found 3 words"),
        (f"s1 {A}\n", ":1", "found 's1'"),
        (f"-1 {A}\n", ":1", "found '-1'"),
        (f"{2**64} {A}\n", ":1", f"found '{2**64}'"),
        (f"{'9' * 5000} {A}\n", ":1", "found '999"),
        (f"\N{ARABIC-INDIC DIGIT ONE} {A}\n", ":1", "found '\N{ARABIC-INDIC DIGIT ONE}'"),
        (f"1 {A[:-1]}\n", ":1", "expected 64 hexadecimal digits"),
        (f"1 {'x' * 100_000}\n", ":1", "found 'xxx"),
    ],
)
def test_a_bad_file_is_refused_in_one_short_line(tmp_path: Path, text: str, place: str, complaint: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as refused:
        load_binding(path)
    said = str(refused.value)
    assert said.startswith(f"{path}{place}: ")
    assert complaint in said
    assert "\n" not in said
    assert len(said) < len(str(path)) + 250


def test_what_is_no_file_of_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path in (tmp_path, tmp_path / "none", tmp_path / "binary", Path("/dev/zero")):
        with pytest.raises(InputError):
            load_binding(path)


def test_a_file_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)
    with pytest.raises(InputError, match="too long"):
        load_binding(path)
