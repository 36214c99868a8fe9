"""Settings of TLS follow their files, and survive broken ones."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path

import pytest

from kuijia_app.framework.followed_tls import FollowedTls, Passphrase


class Maker:
    """Makes a context unless the file says `broken`."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "key.pem"
        self.file.write_text("first")
        self.now = 100.0
        self.passphrases: list[Passphrase | None] = []
        self.followed = FollowedTls([self.file], self.make, lambda: self.now)

    def make(self, passphrase: Passphrase | None) -> ssl.SSLContext:
        self.passphrases.append(passphrase)
        if self.file.read_text() == "broken":
            raise ssl.SSLError("key values mismatch")
        return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def later(self) -> ssl.SSLContext:
        self.now += 1.0
        return self.followed()


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


def test_changed_files_are_read_at_most_once_a_second(maker: Maker) -> None:
    first = maker.followed()
    maker.file.write_text("the second")
    assert maker.followed() is first
    second = maker.later()
    assert second is not first
    assert maker.later() is second
    assert len(maker.passphrases) == 2


@pytest.mark.parametrize("is_missing", [False, True])
def test_broken_files_are_reported_once_and_the_former_stay_in_use(
    maker: Maker, caplog: pytest.LogCaptureFixture, is_missing: object
) -> None:
    first = maker.followed()
    if is_missing:
        maker.file.unlink()
    else:
        maker.file.write_text("broken")
    with caplog.at_level(logging.INFO, "kuijia.tls"):
        assert maker.later() is first
        assert maker.later() is first
        assert len(caplog.records) == 1
        assert f"the old ones stay in use: {maker.file}: " in caplog.text
        maker.file.write_text("whole again")
        assert maker.later() is not first
    assert "new connections use them" in caplog.text


def test_files_that_replace_others_of_the_same_size_and_time_are_read(maker: Maker, tmp_path: Path) -> None:
    first, stat = maker.followed(), maker.file.stat()
    other = tmp_path / "other"
    other.write_text("fresh")
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(maker.file)
    assert maker.later() is not first


def test_nobody_is_asked_for_a_passphrase_once_the_program_runs(maker: Maker) -> None:
    maker.file.write_text("the second")
    maker.later()
    at_first, later = maker.passphrases
    assert at_first is None
    assert later is not None
    assert later() == ""


def test_files_that_are_broken_from_the_start_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FollowedTls([tmp_path / "none"], lambda _: ssl.create_default_context(cafile=tmp_path / "none"))
