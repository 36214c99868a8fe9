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


def roles(flows: Mapping[str, FlowPaths], failed: tuple[str, str]) -> dict[str, Role]:
    """Return the role of each flow, by its name, when the link between two nodes fails in both directions.

    Links are directed: flows in opposite directions share none (Kuijia, section 5.2).
    """
    broken = {failed, failed[::-1]}
    victims = {name for name, paths in flows.items() if _links(paths.before) & broken}
    victim_links = {link for name in victims for link in _links(flows[name].after)}
    others = {name: _links(paths.after) for name, paths in flows.items() if name not in victims}
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


def _links(path: Path) -> set[tuple[str, str]]:
    return set(pairwise(path))
