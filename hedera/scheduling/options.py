"""Options of the scheduler, and the network and placement that they select."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.network.multi_rooted import MultiRooted
from hedera.placement.interface import Placement
from hedera.placement.registry import make_placement
from kuijia_app.control.plan_checks import Missing
from kuijia_app.tables.options import member_option
from kuijia_app.tables.wiring import Neighbours
from kuijia_app.tables.wiring_file import load_wiring
from kuijia_base.errors import InputError, UnsoundError, quoted
from te_solver.formats.topology_file import load_topology
from te_solver.model.topology import Topology

SHORTEST_PERIOD = 0.1

MISSING = (Missing.WARN, Missing.IGNORE)
"""What may follow when links carry nothing; the first is the default. There is no plan to be refused."""

MOST_PORTS = 32
"""Most ports of a fat-tree's switch: 512 edge switches, half a minute of preparation."""

MOST_DISTANCES = MOST_PORTS**5 // 2
"""Most edge switches times directed links between switches: the search to each edge switch crosses all links."""


@dataclass(frozen=True)
class SchedulerOptions:
    """Options of the scheduler as users write them.

    Attributes:
        fat_tree: ports of a fat-tree's switch.
        topology: a topology file instead of a fat-tree; nodes with one neighbour are hosts.
        nic_rate: Mbit/s of all links of the fat-tree; a topology file has its own rates.
        placement: name of the placement of elephants; "ecmp" leaves all where the hash sends them.
        period: seconds between two rounds.
        idle_timeout: seconds after which the switches remove the entries of an ended flow.
        wiring: a wiring file; empty, switches and ports are numbered by the topology.
        neighbours: a value of `Neighbours`: edge switches whose hosts are learned.
    """

    fat_tree: int = 4
    topology: str | None = None
    nic_rate: float = 1000.0
    placement: str = "simulated-annealing"
    period: float = 5.0
    idle_timeout: int = 10
    wiring: str = ""
    neighbours: str = Neighbours.WIRING.value


def missing_option(word: str) -> Missing:
    """Return the member of `MISSING` that a word names; raises InputError if it names none."""
    for each in MISSING:
        if each.value == word:
            return each
    raise InputError("option", "missing", quoted(word), " or ".join(each.value for each in MISSING))


def build(options: SchedulerOptions) -> tuple[DataCentre, Placement]:
    """Return the network and the placement that the options select.

    Raises:
        InputError: an option is invalid.
    """
    if not SHORTEST_PERIOD <= options.period < float("inf"):
        expected = f"{SHORTEST_PERIOD:g} seconds or more"
        raise InputError("option", "period", f"{options.period:g} is too short for a round", expected)
    if not 1 <= options.idle_timeout <= 0xFFFF:
        raise InputError("option", "idle_timeout", f"found {options.idle_timeout}", "1 to 65535 seconds")
    return _centre(options), make_placement(options.placement)


def _centre(options: SchedulerOptions) -> DataCentre:
    source = options.topology or "fat-tree"
    stated = load_wiring(Path(options.wiring)) if options.wiring else None
    more = stated, member_option(Neighbours, "neighbours", options.neighbours)
    try:
        if options.topology is not None:
            topology = load_topology(Path(options.topology))
            _require_prepared_soon(topology)
            return DataCentre(MultiRooted(topology), *more)
        tree = FatTree(options.fat_tree, options.nic_rate)
        if tree.k > MOST_PORTS:
            problem = f"a fat-tree of {tree.k}-port switches"
            raise UnsoundError(("k",), problem, f"at most {MOST_PORTS} ports to schedule")
        return DataCentre(tree, *more)
    except InputError:  # about the wiring
        raise
    except UnsoundError as error:
        raise InputError(source, str(error.where[0]), error.problem, error.expected) from error


def _require_prepared_soon(topology: Topology) -> None:
    """Raise UnsoundError for a graph whose tables would not be ready within a minute."""
    neighbours = topology.neighbours
    leaves = {node for node in topology.nodes if len(neighbours[node]) == 1}
    edges = {neighbours[leaf][0] for leaf in leaves}
    links = sum(leaves.isdisjoint(link.ends) for link in topology.links)
    if len(edges) * links > MOST_DISTANCES:
        problem = f"{len(edges):,} edge switches and {links:,} links between switches"
        raise UnsoundError(("links",), problem, f"a product of at most {MOST_DISTANCES:,}")
