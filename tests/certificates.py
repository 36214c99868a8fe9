"""Keys and certificates for tests of TLS."""

from __future__ import annotations

from pathlib import Path

from kuijia_base.commands import run_command

_REQUEST = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
_OF_AUTHORITY = ["-nodes", "-subj", "/CN=authority"]


def make_certificate(folder: Path, name: str, passphrase: str | None = None) -> None:
    """Make `NAME.key` and `NAME.pem`, signed by the folder's `ca.pem`, which is made first if there is none."""
    locking = ["-nodes"] if passphrase is None else ["-passout", f"pass:{passphrase}"]
    authority = folder / "ca.pem"
    if not authority.exists():
        run_command([*_REQUEST, *_OF_AUTHORITY, "-keyout", str(folder / "ca.key"), "-out", str(authority)])
    signed = ["-CA", str(authority), "-CAkey", str(folder / "ca.key"), "-subj", f"/CN={name}"]
    run_command(
        [*_REQUEST, *signed, *locking, "-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem")]
    )
