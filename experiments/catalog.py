"""Catalog of the experiments: their names, what each reproduces, on what it runs, and where its code is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from kuijia_base.additions import EXPERIMENTS, Addition, additions, leave_out
from kuijia_base.errors import InputError

if TYPE_CHECKING:  # listing the experiments needs none of their code
    from experiments.experiment import Experiment
    from experiments.results.score import SizeBar

_MOST_SUGGESTED = 10
"""Most names shown when another one is unknown."""


@dataclass(frozen=True)
class ExperimentEntry:
    """A row of the catalog.

    Attributes:
        backends: supported backends, the default first.
        module: module whose `EXPERIMENTS` has the experiment under this name, and which may have `SIZE_BARS`.
        caveat: sentence that a reader of deviations from the published numbers should know; empty for none.
    """

    name: str
    reproduces: str
    title: str
    backends: tuple[str, ...]
    module: str
    caveat: str = ""

    def load(self) -> Experiment:
        """Return its code, which may take seconds to import.

        Raises:
            InputError: an installed package whose module has no such experiment.
        """
        known: Mapping[str, Experiment] = getattr(import_module(self.module), "EXPERIMENTS", {})
        if self.name not in known:
            expected = f"an entry of `EXPERIMENTS` in the module {self.module}"
            raise InputError("experiment", self.name, "has no code", expected)
        return known[self.name]

    def size_bars(self) -> Mapping[str, SizeBar | None]:
        """Return what the rule for published numbers leaves to exhibits, by their name or a pattern of names.

        The first that fits counts. None where published numbers judge nothing: a study varies what a paper leaves open,
        or shows backends beside each other.
        """
        bars: Mapping[str, SizeBar | None] = getattr(import_module(self.module), "SIZE_BARS", {})
        return bars

    def simulates_switches(self, backend: str) -> bool:
        """Return True if the packet simulator replaces switches that the experiment can also measure."""
        return backend == "packet" and "emulation" in self.backends


_ALL, _FLOW, _PACKET, _TABLES = ("emulation", "flow", "packet", "boxes"), ("flow",), ("packet",), ("tables",)

_AVERAGED = ("fig10", "fig11", "fig12", "fig13")
_GSCALE = (
    "Losses depend on the sampled pairs, the plan chosen among equals, and the average taken; the paper"
    " specifies none of them: docs/gscale.md shows what each contributes."
)

# fmt: off
_ROWS: tuple[tuple[str, str, tuple[str, ...], str, str], ...] = (
    ("table2", "Table 2", _ALL, "motivation.command",
     "a tunnel fails and the others have room: throughput of four TCP flows"),
    ("table3", "Table 3", _ALL, "motivation.command",
     "a tunnel fails and the others are full: throughput of four TCP flows"),
    ("fig4", "Figure 4", _FLOW, "fig4",
     "every link of random graphs fails: throughput lost with original and with precomputed weights"),
    ("fig6", "Figure 6", _TABLES, "memory",
     "fields of one switch's entries for three priorities, in one table and decomposed"),
    ("fig8", "Figure 8", _TABLES, "memory",
     "fields of four switches' entries by the number of priorities"),
    ("fig10", "Figure 10", _ALL, "gscale.command",
     "throughput loss of TCP flows that a failure affects directly"),
    ("fig11", "Figure 11", _ALL, "gscale.command",
     "packet loss of UDP flows that a failure affects directly"),
    ("indirect", "Section 5.2", _ALL, "gscale.command",
     "loss of flows that a failure affects indirectly"),
    ("fig12", "Figure 12", _ALL, "gscale.command",
     "throughput loss of TCP victims"),
    ("fig13", "Figure 13", _ALL, "gscale.command",
     "packet loss of UDP victims"),
    ("table4", "Table 4", _ALL, "gscale.command",
     "time until TCP settles after a failure"),
    ("table4-factors", "Table 4", _PACKET, "gscale.table4_factors",
     "time until TCP settles, by buffer, delay, congestion control and detection"),
    ("fig14", "Figure 14", _ALL, "gscale.command",
     "throughput loss of the lower of two classes"),
    ("fig16", "Figure 16", _ALL, "gscale.command",
     "traffic on a link before and after a failure, by class"),
    ("fields", "Section 5.4", _TABLES, "memory",
     "fields of all entries for five pairs of two classes on Gscale"),
    ("ffc-vacancy", "Section 2, FFC", _FLOW, "ffc_vacancy",
     "capacity of Gscale that FFC keeps vacant for one or two failed links"),
    ("gscale", "Section 5", _ALL, "gscale.command",
     "figures 10 to 16, table 4 and section 5.2 in one run"),
    ("gscale-readings", "Figures 10-13", ("flow", "packet"), "gscale.readings",
     "losses on Gscale under other interpretations of what the paper leaves open"),
    ("gscale-search", "Figures 10-13", _FLOW, "gscale.reading_search",
     "every combination of interpretations of section 5, and the closest one on held-out draws"),
    ("recovery", "goals of our own", ("emulation", "packet", "boxes"), "recovery.command",
     "a link of a tunnel is cut: time without packets"),
    ("update", "goals of our own", ("emulation", "packet", "boxes"), "update.command",
     "the plan and then the controller are replaced: packets lost at half load"),
    ("victim-transports", "a question of our own", _PACKET, "victim_transports",
     "every transport under every scheme: effect of the victims' queue"),
    ("takeover", "goals of our own", ("emulation",), "takeover.command",
     "one of two controllers hands over, is killed or frozen: packets lost, and time until the other acts"),
    ("hedera-matrices", "Hedera's simulator", _FLOW, "hedera.matrices",
     "traffic matrices of 16 hosts, as in the authors' simulator: ECMP, first fit and annealing"),
    ("hedera-first-fit", "Hedera's simulator", _FLOW, "hedera.matrices",
     "the authors' matrices under other interpretations of global first fit, one change at a time"),
    ("hedera-iterations", "Hedera's table of iterations", _FLOW, "hedera.iterations",
     "random destinations: bandwidth over the iterations of annealing, under several interpretations of the paper"),
    ("hedera-testbed", "Hedera's testbed", ("emulation", "packet"), "hedera.testbed",
     "traffic matrices of 16 hosts: real TCP under ECMP, first fit and annealing, on one tree and one switch"),
    ("hedera-shuffle", "Hedera's shuffle", ("emulation", "flow", "packet"), "hedera.shuffle",
     "each of 16 hosts sends data to all others: time that this takes under ECMP, first fit and annealing"),
    ("hedera-shuffle-readings", "Hedera's shuffle", ("flow", "packet"), "hedera.shuffle_readings",
     "the shuffle under other interpretations of what its authors leave open: gain of annealing over the same hash"),
    ("hedera-8192", "Hedera's simulator", ("flow", "packet"), "hedera.large",
     "8,192 hosts: patterns, and flows that arrive and end, under ECMP, first fit and annealing"),
    ("hedera-growth", "nothing published", _FLOW, "hedera.growth",
     "fat-trees of up to 65,536 hosts: goodput under ECMP, first fit and annealing, time and memory"),
    ("hedera-timing", "Hedera's tables on timing", _FLOW, "hedera.iterations",
     "time of demand estimation and of whole rounds, up to 27,648 hosts"),
    ("cqrd-toy", "CQRD, Figure 2", _PACKET, "cqrd.one_output",
     "five short flows meet two long ones at one port: OQ, HCF, CQ and CQRD"),
    ("cqrd-exp1", "CQRD, Figures 8 and 9; LCN, Figures 6 and 7", _PACKET, "cqrd.loads",
     "short and large flows through one switch of 24 ports"),
    ("cqrd-exp2", "CQRD, Figures 11 and 12; LCN, Figures 9 and 10", _PACKET, "cqrd.loads",
     "480 hosts under 24 top-of-rack and two aggregation switches"),
    ("cqrd-exp3", "CQRD, Figure 13", _PACKET, "cqrd.loads",
     "new switches in a part of the network of 480 hosts"),
    ("cqrd-exp4", "CQRD, Figure 14", _PACKET, "cqrd.loads",
     "CQRD with 30 to 390 KB of buffer per port"),
    ("cqrd-exp5", "CQRD, Figure 15", _PACKET, "cqrd.loads",
     "the network of 480 hosts with DCTCP"),
    ("cqrd-testbed", "CQRD, Figure 16", _PACKET, "cqrd.one_output",
     "the testbed of eight hosts, simulated: CQRD, CQ and OQ"),
    ("flashpass-fig2", "FlashPass, Figure 2", _PACKET, "flashpass.fig2",
     "200 flows of five reactive transports, by buffer size"),
    ("flashpass-buffers", "FlashPass, Tables I and II", _PACKET, "flashpass.fig2",
     "buffers of switch chips, and those that reactive transports need"),
    ("flashpass-fig4", "FlashPass, Figure 4, Tables III and IV", _PACKET, "flashpass.static",
     "two flows with different round trips under ExpressPass and FlashPass"),
    ("flashpass-fig5", "FlashPass, Figure 5", _PACKET, "flashpass.dynamic",
     "credits of ExpressPass that find no data, by flow size"),
    ("flashpass-fig10", "FlashPass, Figure 10", _PACKET, "flashpass.static",
     "long flows to one receiver through a shallow buffer"),
    ("flashpass-fig11", "FlashPass, Figure 11", _PACKET, "flashpass.dynamic",
     "flows over three data centres at load 0.4, five transports"),
    ("flashpass-fig12", "FlashPass, Figure 12", _PACKET, "flashpass.dynamic",
     "flows over three data centres at load 0.8, five transports"),
    ("flashpass-fig14", "FlashPass, Figure 14", _PACKET, "flashpass.dynamic",
     "target losses of emulation packets"),
    ("flashpass-fig15", "FlashPass, Figure 15", _PACKET, "flashpass.dynamic",
     "over-provisioned emulation packets with and without selective dropping"),
    ("expresspass-convergence", "ExpressPass, convergence in 3 and 6 round trips", _PACKET, "flashpass.expresspass",
     "round trips until a second flow of ExpressPass gets its share"),
    ("expresspass-flows", "ExpressPass, Figure 15, flow scalability", _PACKET, "flashpass.expresspass",
     "4 to 1,024 flows of ExpressPass on one link"),
    ("expresspass-parking-lot", "ExpressPass, parking lot", _PACKET, "flashpass.expresspass",
     "flows of ExpressPass over one to six links shared with others"),
    ("expresspass-shuffle", "ExpressPass, shuffle", _PACKET, "flashpass.data_center",
     "a shuffle among 40 hosts under ExpressPass and DCTCP"),
    ("expresspass-queues", "ExpressPass, Table 3", _PACKET, "flashpass.data_center",
     "queues at switches of a data centre under ExpressPass"),
    ("expresspass-waste", "ExpressPass, Figure 20", _PACKET, "flashpass.data_center",
     "credits of ExpressPass that find no data, in a data centre"),
    ("hermes-motivation", "Hermes, section 2", _PACKET, "hermes.motivation",
     "four examples of flowlets, spraying and stale tables"),
    ("hermes-table2", "Hermes, Table 2", _PACKET, "hermes.loads",
     "concurrent flows between pairs of leaves and pairs of hosts"),
    ("hermes-table6", "Hermes, Table 6", _PACKET, "hermes.motivation",
     "paths that probes see, and what they cost"),
    ("hermes-fig9", "Hermes, Figure 9", _PACKET, "hermes.loads",
     "load balancers on the testbed of 12 hosts"),
    ("hermes-fig10", "Hermes, Figure 10", _PACKET, "hermes.loads",
     "load balancers on the testbed with one cable cut"),
    ("hermes-fig11", "Hermes, Figure 11", _PACKET, "hermes.loads",
     "small and large flows on the testbed with one cable cut"),
    ("hermes-fig12", "Hermes, Figure 12", _PACKET, "hermes.loads",
     "load balancers in the simulated network of 128 hosts"),
    ("hermes-fig13", "Hermes, Figure 13", _PACKET, "hermes.loads",
     "web search where a fifth of the links between switches is slow"),
    ("hermes-fig14", "Hermes, Figure 14", _PACKET, "hermes.loads",
     "data mining where a fifth of the links between switches is slow"),
    ("hermes-fig15", "Hermes, Figure 15", _PACKET, "hermes.parameters",
     "CONGA with three flowlet gaps"),
    ("hermes-fig16", "Hermes, Figure 16", _PACKET, "hermes.parameters",
     "a spine that drops 2 % of its packets silently"),
    ("hermes-fig17", "Hermes, Figure 17", _PACKET, "hermes.parameters",
     "a spine with a black hole for some pairs of hosts"),
    ("hermes-fig18", "Hermes, Figure 18", _PACKET, "hermes.parameters",
     "Hermes without rerouting and without probing"),
    ("hermes-fig19", "Hermes, Figure 19", _PACKET, "hermes.parameters",
     "Hermes with other thresholds"),
    ("hermes-plain-tcp", "Hermes, plain TCP", _PACKET, "hermes.loads",
     "load balancers under plain TCP"),
)
# fmt: on

CATALOG = tuple(
    ExperimentEntry(name, reproduces, title, backends, f"experiments.{module}", _GSCALE if name in _AVERAGED else "")
    for name, reproduces, backends, module, title in _ROWS
)
"""All experiments of ours, in the order of lists and reports."""


def all_entries() -> tuple[ExperimentEntry, ...]:
    """Return the rows of all experiments, those of installed packages last."""
    added = []
    for each in _additions().values():
        try:
            added.append(_entry_of(each))
        except InputError as error:
            leave_out(error)
    return (*CATALOG, *added)


def owner_of(exhibit: str) -> ExperimentEntry | None:
    """Return the row of the experiment that an exhibit of this name belongs to; None without any.

    An experiment's own exhibit has its name, others have more words behind it.
    """
    owners = [each for each in all_entries() if f"{exhibit}-".startswith(f"{each.name}-")]
    return max(owners, key=lambda each: len(each.name), default=None)


def find_entry(name: str) -> ExperimentEntry:
    """Return the row of this name; raises InputError if there is none, or its package is broken."""
    ours = {each.name: each for each in CATALOG}
    if name in ours:
        return ours[name]
    added = _additions()
    if name in added:
        return _entry_of(added[name])
    known = [each.name for each in all_entries()]
    alike = get_close_matches(name, known, n=len(known))[:_MOST_SUGGESTED]
    named = ", ".join(each for each in known if each in alike)
    raise InputError("experiment", name, "is unknown", f"one of {named or 'those'} (see `kuijia list`)")


def _additions() -> dict[str, Addition]:
    return additions(EXPERIMENTS, [each.name for each in CATALOG])


def _entry_of(addition: Addition) -> ExperimentEntry:
    entry = addition.load(ExperimentEntry)
    addition.require_name(entry.name)
    return entry
