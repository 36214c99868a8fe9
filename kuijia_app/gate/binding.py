"""Decides which certificates may use which datapath ids, by their names and by a file of fingerprints."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from kuijia_app.framework.certificate_names import allowed_ids
from kuijia_base.errors import InputError, quoted
from kuijia_base.text import read_text

Binding = Mapping[int, frozenset[str]]
"""For each datapath id, the SHA-256 fingerprints of the certificates that may use it."""

_EXPECTED: Final = "lines `DATAPATH-ID SHA256-FINGERPRINT`"
_EXPECTED_ID: Final = "a datapath id, as 1 or 0x0000000000000001"
_EXPECTED_FINGERPRINT: Final = "64 hexadecimal digits, as `openssl x509 -noout -fingerprint -sha256 -in FILE` prints"
_ID: Final = re.compile(r"[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}")
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")
_MOST_BYTES: Final = 16 * 2**20
_LARGEST_ID: Final = 2**64 - 1


def load_binding(path: Path) -> Binding:
    """Read a file with a datapath id and a fingerprint on each line; both may occur repeatedly; # begins a comment.

    Raises:
        InputError: it cannot be read, or a line has another form.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(path, "", f"cannot be read ({error.strerror})", _EXPECTED) from error
    if size > _MOST_BYTES or not path.is_file():
        raise InputError(path, "", "is not a file or too long", f"{_EXPECTED}, at most {_MOST_BYTES} bytes")
    found: defaultdict[int, set[str]] = defaultdict(set)
    for number, line in enumerate(read_text(path, _EXPECTED).split("\n"), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise InputError(path, number, f"found {len(words)} words", _EXPECTED)
        found[_datapath_id(path, number, words[0])].add(_fingerprint(path, number, words[1]))
    if not found:
        raise InputError(path, "", "binds no datapath id", _EXPECTED)
    return {datapath_id: frozenset(fingerprints) for datapath_id, fingerprints in found.items()}


def may_use(datapath_id: int, fingerprint: str | None, uris: Iterable[str], binding: Binding | None) -> bool:
    """Return True if the switch with this certificate may use a datapath id.

    A certificate that names datapath ids is good for no others. With a `binding`, an id in it needs one of its
    certificates, and any other id needs a certificate that names it.
    """
    allowed = allowed_ids(uris)
    if allowed is not None and datapath_id not in allowed:
        return False
    if binding is None:
        return True
    return fingerprint in binding[datapath_id] if datapath_id in binding else allowed is not None


def _datapath_id(path: Path, number: int, word: str) -> int:
    if _ID.fullmatch(word) is None:
        raise InputError(path, number, f"found {quoted(word)}", _EXPECTED_ID)
    datapath_id = int(word, 16 if word[:2].lower() == "0x" else 10)
    if datapath_id > _LARGEST_ID:
        raise InputError(path, number, f"found {quoted(word)}", _EXPECTED_ID)
    return datapath_id


def _fingerprint(path: Path, number: int, word: str) -> str:
    fingerprint = word.rpartition("=")[2].replace(":", "").lower()
    if _FINGERPRINT.fullmatch(fingerprint) is None:
        raise InputError(path, number, f"found {quoted(word)}", _EXPECTED_FINGERPRINT)
    return fingerprint
