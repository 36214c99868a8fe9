"""A folder of keys and certificates: NAME.key and NAME.pem of each holder, ca.key and ca.pem of the authority."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from cryptography import x509

from kuijia_app.pki.holders import AUTHORITY_FILE, CertificateKind, Holder
from kuijia_app.pki.making import (
    Authority,
    certificate_text,
    holder_of,
    is_issued_by,
    issued,
    key_text,
    new_key,
    read_certificate,
    read_key,
    self_signed,
    time_now,
)
from kuijia_base.errors import InputError, UnsoundError
from kuijia_base.partial_file import partial_beside, sync_folder
from kuijia_base.reading import reason_of
from kuijia_base.text import read_bytes

T = TypeVar("T")

_PRIVATE, _PUBLIC = 0o600, 0o644
_MOST_BYTES: Final = 2**20
_AUTHORITY_EXPECTED: Final = "an authority, as `kuijia pki authority` makes it"


@dataclass(frozen=True)
class Entry:
    """A certificate of the folder.

    Attributes:
        file: name of its files, without the suffix.
        holder: what it says about its holder.
        until: the end of its validity.
        is_ours: True if the folder's authority has signed it, or if it is the authority's own.
    """

    file: str
    holder: Holder
    until: datetime
    is_ours: bool


class Folder:
    """Makes, lists and renews the certificates of a folder at the time `now`; all errors are InputError."""

    def __init__(self, path: Path, now: Callable[[], datetime] = time_now) -> None:
        self._path = path
        self._now = now

    def make_authority(self, name: str, days: int, *, force: bool) -> Entry:
        """Make key and certificate of the authority, and the folder if there is none."""
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # ValueError: the path has a NUL
            problem = f"cannot be made ({reason_of(error)})"
            raise InputError(self._path, "", problem, "a folder that can be written to") from error
        key = new_key()
        certificate = self_signed(name, key, self._now(), days)
        self._write(AUTHORITY_FILE, certificate, key_text(key), force=force)
        return self._entry(AUTHORITY_FILE, certificate, certificate)

    def make(self, holder: Holder, days: int, *, force: bool) -> Entry:
        """Make key and certificate of a holder."""
        authority = self._authority()
        key = new_key()
        certificate = issued(authority, holder, key.public_key(), self._now(), days)
        self._write(holder.name, certificate, key_text(key), force=force)
        return self._entry(holder.name, certificate, authority.certificate)

    def entries(self) -> list[Entry]:
        """Return all certificates of the folder, that of the authority first."""
        authority = self._certificate(AUTHORITY_FILE)
        try:
            files = sorted(path.stem for path in self._path.iterdir() if path.suffix == ".pem" and path.name[0] != ".")
        except OSError as error:
            problem = f"cannot be read ({reason_of(error)})"
            raise InputError(self._path, "", problem, "a folder of certificates") from error
        others = (self._entry(file, self._certificate(file), authority) for file in files if file != AUTHORITY_FILE)
        return [self._entry(AUTHORITY_FILE, authority, authority), *others]

    def expiring(self, files: Iterable[str], within: int) -> list[str]:
        """Return those of the files (all, if none are given) that expire within so many days; others' are left out."""
        wanted, end = frozenset(files), self._now() + timedelta(days=within)
        entries = [entry for entry in self.entries() if not wanted or entry.file in wanted]
        return [entry.file for entry in entries if entry.until <= end and entry.is_ours and _is_renewable(entry)]

    def renew(self, files: Iterable[str], days: int, days_of_authority: int, *, new_keys: bool) -> list[Entry]:
        """Replace certificates by ones with a new validity; all are made before the first is written.

        The authority keeps its key, so that the certificates that it has signed stay valid.
        """
        authority = self._authority(may_be_expired=True)
        wanted = sorted(set(files), key=lambda file: (file != AUTHORITY_FILE, file))
        if AUTHORITY_FILE in wanted:
            if new_keys:
                problem = "a new key of the authority would end all certificates that it has signed"
                raise InputError("option", "--new-key", problem, f"no `{AUTHORITY_FILE}` among the names")
            name = holder_of(authority.certificate).name or "authority"
            renewed = self_signed(name, authority.key, self._now(), days_of_authority)
            if renewed.subject != authority.certificate.subject:
                raise self._not_renewable(AUTHORITY_FILE, "has a subject of another form")
            authority = Authority(authority.key, renewed)
        self._require_valid(authority.certificate)
        made: list[tuple[str, x509.Certificate, bytes | None]] = []
        for file in wanted:
            if file == AUTHORITY_FILE:
                made.append((file, authority.certificate, None))
                continue
            former = self._certificate(file)
            holder = self._renewable(file, former, authority.certificate)
            key = new_key() if new_keys else None
            public = former.public_key() if key is None else key.public_key()
            certificate = issued(authority, holder, public, self._now(), days)
            made.append((file, certificate, None if key is None else key_text(key)))
        for file, certificate, secret in made:
            self._write(file, certificate, secret, force=True)
        return [self._entry(file, certificate, authority.certificate) for file, certificate, _ in made]

    def _renewable(self, file: str, certificate: x509.Certificate, authority: x509.Certificate) -> Holder:
        entry = self._entry(file, certificate, authority)
        if not entry.is_ours:
            raise self._not_renewable(file, "is signed by another authority")
        if not _is_renewable(entry):
            raise self._not_renewable(file, "was made by another program")
        return entry.holder

    def _not_renewable(self, file: str, problem: str) -> InputError:
        return InputError(self._place(file, "pem"), "", problem, "a certificate made by `kuijia pki` in this folder")

    @staticmethod
    def _entry(file: str, certificate: x509.Certificate, authority: x509.Certificate) -> Entry:
        is_ours = is_issued_by(certificate, authority)
        return Entry(file, holder_of(certificate), certificate.not_valid_after_utc, is_ours)

    def _authority(self, *, may_be_expired: bool = False) -> Authority:
        certificate = self._certificate(AUTHORITY_FILE)
        key = self._read(AUTHORITY_FILE, "key", read_key)
        if key.public_key() != certificate.public_key():
            place = self._place(AUTHORITY_FILE, "key")
            raise InputError(place, "", f"does not belong to {AUTHORITY_FILE}.pem", "the key of this certificate")
        if not may_be_expired:
            self._require_valid(certificate)
        return Authority(key, certificate)

    def _require_valid(self, certificate: x509.Certificate) -> None:
        until = certificate.not_valid_after_utc
        if until <= self._now():
            problem = f"has expired on {until.date().isoformat()}"
            raise InputError(
                self._place(AUTHORITY_FILE, "pem"), "", problem, f"`kuijia pki renew {AUTHORITY_FILE}` before"
            )

    def _certificate(self, file: str) -> x509.Certificate:
        return self._read(file, "pem", read_certificate)

    def _read(self, file: str, suffix: str, read: Callable[[bytes], T]) -> T:
        path = self._place(file, suffix)
        try:
            return read(read_bytes(path, _AUTHORITY_EXPECTED if file == AUTHORITY_FILE else "PEM", _MOST_BYTES))
        except UnsoundError as error:
            raise InputError(path, "", error.problem, error.expected) from error

    def _place(self, file: str, suffix: str) -> Path:
        return self._path / f"{file}.{suffix}"

    def _write(self, file: str, certificate: x509.Certificate, secret: bytes | None, *, force: bool) -> None:
        contents = {} if secret is None else {self._place(file, "key"): (secret, _PRIVATE)}
        contents[self._place(file, "pem")] = (certificate_text(certificate), _PUBLIC)
        try:
            _place_files(contents, force=force)
        except FileExistsError as error:
            problem = f"{file}.key or {file}.pem exists already"
            raise InputError(self._path, "", problem, "another name, or --force to replace them") from error
        except (OSError, ValueError) as error:
            problem = f"cannot be written to ({reason_of(error)})"
            raise InputError(self._path, "", problem, "a folder that can be written to") from error


def _is_renewable(entry: Entry) -> bool:
    return entry.holder.kind is not CertificateKind.OTHER and (entry.holder.kind is CertificateKind.AUTHORITY) == (
        entry.file == AUTHORITY_FILE
    )


def _place_files(contents: Mapping[Path, tuple[bytes, int]], *, force: bool) -> None:
    """Write files of one folder with these modes; all contents are on the disk before the first takes its place.

    Raises:
        FileExistsError: a file exists already, and not `force`; nothing has changed then.
    """
    with ExitStack() as partials:
        made = {}
        for target, (content, mode) in contents.items():
            write = partial(_write_content, content)
            made[target] = partials.enter_context(partial_beside(target, write, mode=mode))
        placed: list[Path] = []
        try:
            for target, written in made.items():
                if force:
                    written.replace(target)
                else:
                    os.link(written, target)  # which never replaces anything, even if another process is as fast
                    placed.append(target)
        except OSError:
            for target in placed:
                target.unlink()
            raise
        for folder in {target.parent for target in made}:
            sync_folder(folder)


def _write_content(content: bytes, path: Path) -> None:
    path.write_bytes(content)
