"""Determines the role of each flow in a link failure from the tunnels alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from experiments.results.result import Role

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlowPaths:
    """Nodes that a flow visits before and after the failure."""

    before: Path
    after: Path


def roles(
    flows: Mapping[str, FlowPaths], failed: tuple[str, str], *, either_direction: bool = False
) -> dict[str, Role]:
    """Return the role of each flow, by its name, when the link between two nodes fails in both directions.

    Links are directed: flows in opposite directions share none (Kuijia, section 5.2), unless `either_direction`.
    """

    def links_of(path: Path) -> set[tuple[str, str]]:
        hops = set(pairwise(path))
        return hops | {hop[::-1] for hop in hops} if either_direction else hops

    broken = {failed, failed[::-1]}
    victims = {name for name, paths in flows.items() if links_of(paths.before) & broken}
    victim_links = {link for name in victims for link in links_of(flows[name].after)}
    others = {name: links_of(paths.after) for name, paths in flows.items() if name not in victims}
    direct = {name for name, links in others.items() if links & victim_links}
    direct_links = {link for name in direct for link in others[name]}
    found: dict[str, Role] = {}
    for name in flows:
        if name in victims:
            found[name] = "victim"
        elif name in direct:
            found[name] = "direct"
        else:
            found[name] = "indirect" if others[name] & direct_links else "aboriginal"
    return found
