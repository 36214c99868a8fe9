"""Largest packets of hosts and of links."""

from __future__ import annotations

HOST_MTU = 1500
LINK_MTU = 1508
"""MTU of a core link: a host's packet and two labels."""
