"""What a controller shows to switches that connect by TLS, and what it asks of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TlsFiles:
    """Files in PEM: the controller's private key, its certificate, those of who signs the switches' certificates."""

    key: Path
    certificate: Path
    ca: Path
