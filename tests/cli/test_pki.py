"""`kuijia pki` makes, lists and renews certificates, and leaves nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from kuijia.cli.main import main
from kuijia_app.pki.folder import Folder
from kuijia_app.pki.holders import CertificateKind, Holder
from kuijia_app.pki.making import time_now
from tests.certificates import make_certificate


def pki(folder: Path, *words: str) -> int:
    try:
        return main(["pki", *words, "--folder", str(folder)])
    except SystemExit as stop:
        return int(stop.code or 0)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    assert pki(folder, "list", "--json") == 0
    return {each["name"]: each for each in json.loads(capsys.readouterr().out)["certificates"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki") / "keys"
    assert pki(folder, "authority", "--name", "Our network") == 0
    assert pki(folder, "controller", "c1", "10.0.0.1", "C1.example.net") == 0
    assert pki(folder, "switch", "s1", "1", "0x2a") == 0
    assert pki(folder, "web", "page", "--days", "20") == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "keys"))


def test_the_list_says_what_each_is_for_and_when_it_expires(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(made, capsys)
    assert {name: entry["for"] for name, entry in found.items()} == {
        "ca": "authority",
        "c1": "controller",
        "page": "web",
        "s1": "switch",
    }
    assert found["ca"]["common_name"] == "Our network"
    assert found["c1"]["addresses"] == ["c1.example.net", "10.0.0.1"]
    assert found["page"]["addresses"] == ["localhost", "127.0.0.1", "::1"]
    assert found["s1"]["datapath_ids"] == [1, 42]
    assert found["s1"]["uris"][1] == "kuijia:datapath-id:000000000000002a"
    assert pki(made, "list") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["name", "for", "names", "expires", "days", "left"]
    assert printed[3].split()[-1] == "19"


def test_status_lists_what_expires_soon_and_fails_then(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pki(made, "status") == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["name", "page"]
    assert pki(made, "status", "--json") == 1
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)["certificates"]] == ["page"]
    assert pki(made, "status", "--within", "10") == 0
    assert capsys.readouterr().out == "none expires within 10 days\n"
    assert pki(made, "status", "--within", "0") == 2
    assert pki(made / "none", "status") == 2


def test_private_keys_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert pki(tmp_path / "new", "authority") == 0
        assert pki(tmp_path / "new", "switch", "s1", "1") == 0
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    assert modes == {"ca.key": 0o600, "ca.pem": 0o644, "s1.key": 0o600, "s1.pem": 0o644}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@pytest.mark.parametrize("words", [["authority"], ["switch", "s1", "5"], ["web", "c1"]])
def test_existing_files_are_kept_unless_forced(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    before = content(folder)
    assert pki(folder, *words) == 2
    assert "exists already, expected another name, or --force" in capsys.readouterr().err
    assert content(folder) == before
    assert pki(folder, *words, "--force") == 0
    changed = {name for name, data in content(folder).items() if before.get(name) != data}
    name = "ca" if words == ["authority"] else words[1]
    assert changed == {f"{name}.key", f"{name}.pem"}


def test_one_existing_file_of_two_suffices(folder: Path) -> None:
    (folder / "s1.key").unlink()
    before = content(folder)
    assert pki(folder, "switch", "s1", "1") == 2
    assert content(folder) == before


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_disk_that_fails_leaves_nothing_half_written(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    before = content(folder)
    real, calls = getattr(os, call), []

    def fails(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(*arguments)

    monkeypatch.setattr(os, call, fails)
    assert pki(folder, "switch", "s2", "2") == 2
    assert "No space left" in capsys.readouterr().err
    assert content(folder) == before


def test_a_renewed_certificate_has_the_same_names_and_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, names = content(folder), listed(folder, capsys)
    assert pki(folder, "renew", "s1", "page", "--days", "700") == 0
    after, renewed = content(folder), listed(folder, capsys)
    assert {name for name in after if after[name] != before[name]} == {"s1.pem", "page.pem"}
    for name in ("s1", "page"):
        assert renewed[name].pop("expires") > names[name].pop("expires")
        assert renewed[name] == names[name]
        keys = [x509.load_pem_x509_certificate(each[f"{name}.pem"]).public_key() for each in (before, after)]
        assert keys[0] == keys[1]


def test_renewal_makes_new_keys_if_asked(folder: Path) -> None:
    before = content(folder)
    assert pki(folder, "renew", "s1", "--new-key") == 0
    assert {name for name, data in content(folder).items() if data != before[name]} == {"s1.key", "s1.pem"}
    assert stat.S_IMODE((folder / "s1.key").stat().st_mode) == 0o600


def test_only_what_expires_soon_is_renewed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = content(folder)
    assert pki(folder, "renew", "--within", "19") == 0
    assert "nothing to renew" in capsys.readouterr().out
    assert content(folder) == before
    assert pki(folder, "renew", "--within", "30") == 0
    assert {name for name, data in content(folder).items() if data != before[name]} == {"page.pem"}


def test_the_authority_keeps_its_key_so_that_its_certificates_stay_good(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pki(folder, "renew", "ca", "--days", "9000") == 0
    assert all(entry["signed_by_authority"] for entry in listed(folder, capsys).values())
    assert pki(folder, "renew", "ca", "--new-key") == 2
    assert "would end all certificates" in capsys.readouterr().err


def test_an_expired_authority_signs_nothing_until_it_is_renewed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    past = time_now().replace(year=2020)
    old = Folder(tmp_path, lambda: past)
    old.make_authority("authority", 10, force=False)
    old.make(Holder("s1", CertificateKind.SWITCH, datapath_ids=(1,)), 10, force=False)
    assert pki(tmp_path, "list") == 0
    assert capsys.readouterr().out.count("expired") == 2
    for words in (["switch", "s2", "2"], ["renew", "s1"]):
        assert pki(tmp_path, *words) == 2
        assert "ca.pem: has expired on " in capsys.readouterr().err
    assert pki(tmp_path, "renew", "ca", "s1") == 0
    assert "expired" not in capsys.readouterr().out


def test_certificates_of_others_are_shown_and_never_signed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_certificate(tmp_path, "other")
    shutil.copy(tmp_path / "other.pem", folder)
    assert not listed(folder, capsys)["other"]["signed_by_authority"]
    assert pki(folder, "renew", "other") == 2
    assert "other.pem: is signed by another authority" in capsys.readouterr().err
    before = content(folder)["other.pem"]
    assert pki(folder, "renew", "--within", "36500") == 0
    assert content(folder)["other.pem"] == before


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["switch", "s2"], "DATAPATH-ID"),
        (["switch", "s2", "-1"], "-1"),
        (["switch", "s2", str(2**64)], "expected"),
        (["switch", "../s2", "1"], "'../s2', expected 1 to 64"),
        (["switch", "CA", "1"], "'CA', expected 1 to 64"),
        (["web", "w", "*.example.net"], "expected an IP address or the name of a host"),
        (["web", "w", "--days", "0"], "expected a whole number from 1 to 36500"),
        (["authority", "--name", "x" * 65, "--force"], "expected at most 64 printable characters"),
        (["renew"], "no certificate is named"),
        (["renew", "../s1"], "'../s1', expected 1 to 64"),
        (["renew", "s9"], "s9.pem: cannot be read (No such file or directory)"),
    ],
)
def test_bad_input_ends_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    before = content(folder)
    assert pki(folder, *words) == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert content(folder) == before


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("ca.pem", None, "ca.pem: cannot be read (No such file or directory), expected an authority"),
        ("ca.pem", "nonsense", "ca.pem: is no certificate"),
        ("ca.key", None, "ca.key: cannot be read (No such file or directory), expected an authority"),
        ("ca.key", "nonsense", "ca.key: is no such key"),
        ("ca.key", "s1.key", "ca.key: does not belong to ca.pem"),
    ],
)
def test_a_folder_with_a_broken_authority_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, text: str | None, complaint: str
) -> None:
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes((folder / text).read_bytes() if text.endswith(".key") else text.encode())
    assert pki(folder, "switch", "s2", "2") == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1
    assert not (folder / "s2.key").exists()
