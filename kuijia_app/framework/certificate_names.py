"""Names in certificates that say what their holder may be: a controller, a web server, or switches with datapath ids.

They are URIs among the alternative names of a certificate's subject (subjectAltName).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

CONTROLLER: Final = "kuijia:controller"
WEB_SERVER: Final = "kuijia:web"

_SCHEME: Final = "kuijia:"
_DATAPATH: Final = re.compile(r"kuijia:datapath-id:([0-9a-f]{16})")


def datapath_name(datapath_id: int) -> str:
    """Return the URI for a datapath id: its 16 hexadecimal digits, as Open vSwitch prints them."""
    return f"kuijia:datapath-id:{datapath_id:016x}"


def named_ids(uris: Iterable[str]) -> frozenset[int]:
    """Return the datapath ids that a certificate names."""
    return frozenset(int(match[1], 16) for match in map(_DATAPATH.fullmatch, uris) if match is not None)


def allowed_ids(uris: Iterable[str]) -> frozenset[int] | None:
    """Return the datapath ids to which a certificate is limited; None if it has no URI of ours, so no such limit.

    A URI of ours that is no datapath id allows none: certificates of controllers are not for switches.
    """
    ours = _ours(uris)
    return named_ids(ours) if ours else None


def may_be_controller(uris: Iterable[str]) -> bool:
    """Return False if a certificate is for something other than a controller."""
    ours = _ours(uris)
    return not ours or CONTROLLER in ours


def uris_shown(certificate: Mapping[str, Any] | None) -> list[str]:
    """Return the URIs in a certificate as `ssl` describes it (`getpeercert`)."""
    return [name for kind, name in (certificate or {}).get("subjectAltName", ()) if kind == "URI"]


def _ours(uris: Iterable[str]) -> list[str]:
    return [uri for uri in uris if uri.lower().startswith(_SCHEME)]
