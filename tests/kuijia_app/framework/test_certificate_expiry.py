"""Whoever uses certificates learns in time that they expire, once a day, and that they were renewed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kuijia_app.framework import certificate_expiry
from kuijia_app.framework.certificate_expiry import ExpiryWatch, expiry_of
from kuijia_app.pki.folder import Folder
from kuijia_app.pki.holders import CertificateKind, Holder

HOUR, DAY = 3600.0, 86_400.0


class Rig:
    """A watch of one certificate, with clocks that the test sets.

    Attributes:
        noted: names and days left at the latest look.
    """

    def __init__(self, folder: Path, days: int) -> None:
        self.folder = Folder(folder)
        self.folder.make_authority("authority", 3650, force=False)
        self.folder.make(Holder("c1", CertificateKind.CONTROLLER, ("localhost",)), days, force=False)
        self.file = folder / "c1.pem"
        self.passed = 0.0
        self.noted: dict[str, float] = {}
        began = time.time()
        self.watch = ExpiryWatch({"own": self.file}, self.note, lambda: began + self.passed, lambda: self.passed)

    def note(self, name: str, until: float) -> None:
        self.noted[name] = (until - time.time()) / DAY

    def after(self, seconds: float) -> tuple[int, int]:
        """Return the numbers of news and warnings after some time."""
        self.passed += seconds
        news, warnings = self.watch.look()
        return len(news), len(warnings)


def test_a_certificate_that_lasts_is_told_of_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, 100)
    news, warnings = rig.watch.look()
    assert (len(news), warnings) == (1, [])
    assert news[0].startswith(f"the certificate {rig.file} is valid until 20")
    assert rig.noted["own"] == pytest.approx(100, abs=0.1)
    assert [rig.after(HOUR) for _ in range(30)] == [(0, 0)] * 30


def test_one_that_expires_soon_is_warned_of_at_the_start_and_once_a_day(tmp_path: Path) -> None:
    rig = Rig(tmp_path, 3)
    _, (line,) = rig.watch.look()
    assert line.startswith(f"the certificate {rig.file} expires on 20")
    assert line.endswith(", in 3 days: renew it (`kuijia pki renew`)")
    assert sum(rig.after(HOUR)[1] for _ in range(23)) == 0
    assert rig.after(HOUR) == (0, 1)
    assert sum(rig.after(HOUR)[1] for _ in range(48)) == 2
    rig.passed += 2 * DAY
    assert " expired on 20" in rig.watch.look()[1][0]


def test_the_warning_begins_thirty_days_before(tmp_path: Path) -> None:
    rig = Rig(tmp_path, 31)
    assert rig.after(0.0) == (1, 0)
    assert rig.after(DAY + HOUR) == (0, 1)


def test_a_renewed_certificate_is_told_of(tmp_path: Path) -> None:
    rig = Rig(tmp_path, 3)
    assert rig.after(0.0) == (0, 1)
    rig.folder.renew(["c1"], 365, 3650, new_keys=False)
    assert rig.after(HOUR / 2) == (0, 0), "files are read once an hour"
    assert rig.after(HOUR / 2) == (1, 0)
    assert rig.noted["own"] == pytest.approx(365, abs=0.1)


def test_a_file_that_cannot_be_read_is_left_to_those_who_use_it(tmp_path: Path) -> None:
    rig = Rig(tmp_path, 3)
    rig.file.write_text("no certificate")
    assert (rig.after(0.0), rig.noted) == ((0, 0), {})
    rig.file.unlink()
    assert rig.after(HOUR) == (0, 0)


def test_of_several_certificates_in_a_file_the_first_to_expire_counts(tmp_path: Path) -> None:
    rig = Rig(tmp_path, 3)
    chain = tmp_path / "chain"
    chain.write_bytes((tmp_path / "ca.pem").read_bytes() + rig.file.read_bytes())
    assert expiry_of(chain) == expiry_of(rig.file)


def test_without_the_library_it_says_once_that_nothing_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, 3)
    monkeypatch.setattr(certificate_expiry, "is_installed", lambda _module: False)
    news, warnings = rig.watch.look()
    assert (news, warnings) == (
        ["when certificates expire is not watched: pip install 'kuijia[controller]'"],
        [],
    )
    assert rig.after(HOUR) == (0, 0)
