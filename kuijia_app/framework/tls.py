"""The key and certificates by which a controller and its switches know each other under TLS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TlsFiles:
    """Files in PEM: the controller's private key, its certificate, those of who signs the switches' certificates."""

    key: Path
    certificate: Path
    ca: Path
