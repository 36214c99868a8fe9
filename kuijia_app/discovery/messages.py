"""The OpenFlow messages of discovery: send probes, and have those that arrive passed to the controller."""

from __future__ import annotations

from typing import Any

from kuijia_app.control.openflow import Messages
from kuijia_app.discovery.lldp import ETH_TYPE

COOKIE = 0x4B55_494A_4C4C_4450
"""Differs from that of the plan's entries, so that no controller of ours repairs or removes this one."""

PRIORITY = 0xFFFF
_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF


class DiscoveryMessages(Messages):
    """Builder of messages for one connected switch; `datapath` is the connection object of either framework."""

    def catch_lldp(self, seconds: int) -> Any:
        """Return the entry that sends arriving probes to us; it goes after so many seconds, whatever becomes of us."""
        return self._catch(self._parser.OFPMatch(eth_type=ETH_TYPE), COOKIE, PRIORITY, seconds)

    def release(self) -> Any:
        """Return the message that removes the entry."""
        ofproto = self._ofproto
        return self._parser.OFPFlowMod(
            self._datapath,
            cookie=COOKIE,
            cookie_mask=_ALL_BITS,
            command=ofproto.OFPFC_DELETE,
            out_port=ofproto.OFPP_ANY,
            out_group=ofproto.OFPG_ANY,
            match=self._parser.OFPMatch(),
        )
