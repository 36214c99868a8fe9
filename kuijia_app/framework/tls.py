"""Key and certificates by which a controller and its switches identify each other under TLS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TlsFiles:
    """Files in PEM: the controller's private key, its certificate, and the authority of the switches' certificates."""

    key: Path
    certificate: Path
    ca: Path
