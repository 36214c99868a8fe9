"""The transport `eager-dctcp`: DCTCP that begins with 40 segments."""

from __future__ import annotations

from kuijia.simulator.packet.transports import Congestion, Tcp

EAGER_DCTCP = Tcp(congestion=Congestion.DCTCP, initial_window=40)
