"""Inventories of boxes that do not exist, for checks made before any box is contacted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network


def inventory_file(
    folder: Path, controller: dict[str, object], network: str = "fig1", sites: Sequence[str] = ("s1", "s4")
) -> Path:
    """Write an inventory of unreachable boxes for a shipped network and some hosts; `junk.pem` lies beside it."""
    switches = [
        {
            "node": node,
            "address": "127.0.0.1",
            "port": port,
            "management": "eth0",
            "links": {other: f"to-{other}" for other in others},
            **({"host": "to-host"} if node in sites else {}),
        }
        for port, (node, others) in enumerate(load_topology(shipped_network(network)).neighbours.items(), 1)
    ]
    hosts = [
        {"node": site, "address": "127.0.0.1", "port": 1000 + port, "management": "eth0", "interface": "eth1"}
        for port, site in enumerate(sites)
    ]
    (folder / "junk.pem").write_text("junk")
    path = folder / "inventory.yaml"
    path.write_text(yaml.safe_dump({"controller": controller, "switches": switches, "hosts": hosts}))
    return path
