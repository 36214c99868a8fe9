"""FlashPass on buffers: five reactive transports against their size (Figure 2), chips and formulas (Tables I, II)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from experiments.experiment import Options, Outcome
from experiments.flashpass.schemes import CUBIC_KEEPS, HEADER, packet_exhibit
from experiments.flashpass.schemes import PUBLISHED as PUBLISHED_TABLES
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.result import Check
from experiments.results.score import SizeBar, order
from kuijia_base.picture_file import legend_below, look, new_figure, write_picture
from simulator.packet.credited import DATA
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import Bottleneck, dumbbell
from simulator.packet.transports import Congestion, Tcp

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fig2_figure(throughput: Exhibit, loss: Exhibit) -> Figure:
    """Return both panels side by side."""
    figure = new_figure(8.5, 3.8)
    all_axes = figure.subplots(1, 2)
    for axes, exhibit in zip(all_axes, (throughput, loss), strict=True):
        for position, line in enumerate(exhibit.lines):
            how = look(position)
            ours = [(float(point.x), point.value) for point in line.points if point.value is not None]
            theirs = [(float(point.x), point.published) for point in line.points if point.published is not None]
            axes.plot(*zip(*ours, strict=True), color=how.colour, linestyle=how.dashes, label=line.label)
            style = {"color": how.colour, "markerfacecolor": "none", "markersize": 5, "linestyle": ""}
            axes.plot(*zip(*theirs, strict=True), how.mark, label=f"{line.label}, published", **style)
        axes.set_xscale("log")
        axes.set_xlabel(exhibit.axis)
        axes.set_ylabel(exhibit.quantity)
        axes.set_ylim(bottom=0)
        axes.grid(color="0.9")
    legend_below(figure, all_axes[0], most=5)
    return figure


TRANSPORTS = {
    Congestion.NEW_RENO: "NewReno",
    Congestion.CUBIC: "Cubic",
    Congestion.VEGAS: "Vegas",
    Congestion.COPA: "Copa",
    Congestion.BBR: "BBR",
}
BUFFERS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
"""The paper's sizes of the buffer in MB."""

FLOWS, RATE, ROUND_TRIP = 200, 10_000.0, 0.04
"""Flows, each from its own sender; Mbit/s of all links; seconds there and back."""

THROUGHPUT_WITHIN, LOSS_FACTOR, JUDGED_FROM = 0.6, 2.0, 1.0
"""Bars: Gbit/s, and a factor; the throughput is judged with a buffer of so many MB and more."""

THROUGHPUT, LOSS = "throughput (Gbit/s)", "loss (%)"
_COUNTED_AS = 1500  # bytes of a packet, where the authors' scripts set a buffer in packets
_TIE = 0.1  # Gbit/s that two published throughputs may be apart and yet have no order: the figure is read to about that


DEVICE = 10
"""Packets that wait in the network device behind the buffer."""

UNCOUNTED, SPREAD = 1.5, 0.2
"""Seconds at the start in which the throughput does not count, but losses do, and over which flows start."""

BY_THE_PAPERS = Tcp(handshake=True, payload=1448, header=90, first_timeout=0.5, nic_packets=0, grows_from=0.0)
"""Cubic, Vegas, Copa and BBR as their own papers, RFC and drafts describe them; ns-3 does not ask that a window is in
use for it to grow, and headers include Ethernet's preamble and the gap between frames."""

AUTHORS_TCP = replace(
    BY_THE_PAPERS,
    cubic_keeps=819 / 1024,
    cubic_fast_convergence=False,
    vegas_keeps=1.0,  # it loses one segment
    vegas_alternates=False,
    copa_nearly_empty=0.5,
    copa_cautious=True,
    copa_paced=False,
    bbr_window_gain=1.1,
    bbr_probing_gain=0.1,
    bbr_heeds_loss=True,
)
"""What the paper does not give, as in its authors' public ns-3 code: `docs/flashpass_fig2.md` has its sources and the
effect of others."""


@dataclass(frozen=True)
class DumbbellRun:
    """A run of the simulation: value of the congestion control, MB of buffer, simulated seconds, seed."""

    transport: str
    buffer: float
    seconds: float
    seed: int
    choices: Tcp = AUTHORS_TCP

    def network(self) -> Network:
        """Return the senders, a switch, and the receiver behind the only link that is shared."""
        network = Network()
        senders = [network.add_host() for _ in range(FLOWS)]
        receiver, switch = network.add_host(), network.add_switch()
        for sender in senders:
            network.connect((sender, switch), RATE, ROUND_TRIP / 4)
            network.connect((switch, sender), RATE, ROUND_TRIP / 4)
        network.connect((receiver, switch), RATE, ROUND_TRIP / 4)
        packets = int(self.buffer * 1e6 / _COUNTED_AS) + DEVICE
        limit = packets * (self.choices.payload + self.choices.header)
        network.connect((switch, receiver), RATE, ROUND_TRIP / 4, queueing=Fifo(limit))
        return network

    def tcp(self) -> Tcp:
        """Return the transport of all flows."""
        return replace(self.choices, congestion=Congestion(self.transport))


def measured(case: DumbbellRun) -> list[float]:
    """Return Gbit/s of payload that arrived, in order or not, and the share of data packets that were dropped."""
    start = np.random.default_rng(case.seed).uniform(0, SPREAD, FLOWS)
    flows = Flows.of(np.arange(FLOWS), FLOWS, case.tcp(), start=start)
    simulation = Simulation(case.network(), [flows], Setting(seed=case.seed))
    warm_up = min(UNCOUNTED, case.seconds / 2)
    simulation.complete(warm_up)
    before = float(simulation.flow_results().arrived.sum())
    simulation.complete(case.seconds)
    results = simulation.flow_results()
    # Not what is in order: holes of slow start are filled later, and then it would exceed the link's rate.
    arrived = (float(results.arrived.sum()) - before) * case.choices.payload
    throughput = arrived * 8e-9 / (case.seconds - warm_up)
    return [throughput, float(results.dropped.sum()) / float(results.sent.sum())]


PUBLISHED = published_numbers("flashpass_fig2")


def run_fig2(execution: Execution) -> Outcome:
    """Run every transport with every buffer; write tables and the picture."""
    choices = BY_THE_PAPERS if execution.args.by_the_papers else AUTHORS_TCP
    seconds = execution.sized(QUICK_SECONDS, SECONDS)
    buffers = execution.sized(QUICK_BUFFERS, SOME_BUFFERS, BUFFERS)
    keyed = {
        (transport, buffer): [DumbbellRun(transport.value, buffer, seconds, seed, choices) for seed in execution.seeds]
        for transport in TRANSPORTS
        for buffer in buffers
    }
    remark = (
        f"{FLOWS} flows for {seconds:g} s (published: 5 s). The throughput is that of payload after "
        f"{min(UNCOUNTED, seconds / 2):g} s, losses count from the start. Cubic, Vegas, Copa and BBR "
        f"are {'those of their own papers' if choices == BY_THE_PAPERS else 'as the authors changed them'}. "
        "docs/flashpass_fig2.md has the settings that the paper does not give."
    )

    def table(
        place: int, key: str, quantity: str, scale: float, checks: Callable[[Sequence[Line]], list[Check]]
    ) -> Exhibit:
        lines = lines_of(
            TRANSPORTS,
            buffers,
            lambda transport, buffer: [scale * run[place] for run in runs[transport, buffer]],
            lambda transport, buffer: PUBLISHED[key][transport.value][BUFFERS.index(buffer)],
        )
        return Exhibit(
            name=f"flashpass-fig2-{key}",
            title=f"{FLOWS} flows against the size of the buffer",
            reproduces="FlashPass Figure 2",
            backend="packet",
            axis="buffer (MB)",
            quantity=quantity,
            lines=lines,
            published=PUBLISHED["source"],
            checks=tuple(checks(lines)),
            remarks=(remark,),
        )

    with execution.swept(measured, keyed) as runs:
        throughput = table(0, "throughput", THROUGHPUT, 1.0, throughput_checks)
        loss = table(1, "loss", LOSS, 100.0, loss_checks)
        write_picture(execution.output, "flashpass-fig2.svg", lambda: fig2_figure(throughput, loss))
        return execution.written(throughput, loss)


def throughput_checks(lines: Sequence[Line]) -> list[Check]:
    """Return the farthest deviation of each transport, and what is left of the order with the smallest buffer."""
    checks = []
    for line in lines:
        found = [point.deviation or 0.0 for point in line.points if float(point.x) >= JUDGED_FROM]
        farthest = max(found, key=abs, default=0.0)
        name = f"{line.label}, ours less published, {JUDGED_FROM:g} MB and more"
        checks.append(Check(name, farthest, -THROUGHPUT_WITHIN, THROUGHPUT_WITHIN))
    smallest = min(float(point.x) for point in lines[0].points)
    ends = [(line.at(smallest).value or 0.0, line.at(smallest).published or 0.0) for line in lines]
    turned = sum(ours > other and theirs < others - _TIE for ours, theirs in ends for other, others in ends)
    checks.append(order(f"pairs of transports turned round at {smallest:g} MB", turned, high=0))
    return checks


def loss_checks(lines: Sequence[Line]) -> list[Check]:
    """Return how far each transport is from the published losses, as a factor; published zeros are left out."""
    checks = []
    for line in lines:
        ratios = [(point.value or 0.0) / point.published for point in line.points if point.published]
        for name, ratio in (("smallest", min(ratios)), ("largest", max(ratios))):
            checks.append(Check(f"{line.label}, {name} ours / published", ratio, 1 / LOSS_FACTOR, LOSS_FACTOR))
    return checks


SECONDS, QUICK_SECONDS = 5.0, 1.5
SOME_BUFFERS, QUICK_BUFFERS = (0.2, 1.0, 5.0, 20.0, 100.0), (0.2, 2.0, 20.0)


def configure(options: Options) -> None:
    """Add the experiment's option."""
    options.add_argument(
        "--by-the-papers",
        action="store_true",
        help="Vegas, Copa and BBR as in their own papers and drafts, not as FlashPass' authors changed them",
    )


SIZE_BARS = {"flashpass-fig2-loss": SizeBar(0.2)}


ONE_FLOW_RATE, ONE_FLOW_ROUND_TRIP = 100.0, 0.04
"""Mbit/s and seconds of the measured bottleneck: 325 packets of 1538 bytes per round trip."""

BACKOFFS = {"NewReno": (Congestion.NEW_RENO, 0.5), "Cubic": (Congestion.CUBIC, 1 - CUBIC_KEEPS)}
"""Controls whose windows fall by this part of them after a loss."""

PARTS = (1.0, 0.5, 0.1)
"""Parts of the buffer by formula that are measured."""

FULL, LESS = 0.99, 0.97
"""Bars: utilisation with the buffer by formula at least, and with a tenth of it at most."""

_WARM_UP = 40.0
"""Seconds before anything is measured: several losses of either control."""


@dataclass(frozen=True)
class BufferRun:
    """A run: a control by name, its buffer in bandwidth-delay products, seconds measured."""

    control: str
    products: float
    seconds: float
    seed: int


def needed(backoff: float) -> float:
    """Return the buffer, in bandwidth-delay products, that never runs empty when a window falls by `backoff`.

    A window of product plus buffer, W, falls to (1 - backoff) W, which must still be the product (Appenzeller et al.,
    SIGCOMM 2004).
    """
    return backoff / (1 - backoff)


def utilisation(case: BufferRun) -> float:
    """Return the share of the bottleneck that one flow uses after the warm-up."""
    product = ONE_FLOW_RATE * 1e6 / 8 * ONE_FLOW_ROUND_TRIP
    queue = Fifo(max(DATA, round(case.products * product)))
    network = dumbbell(
        1, 10 * ONE_FLOW_RATE, ONE_FLOW_ROUND_TRIP / 8, Bottleneck(ONE_FLOW_RATE, ONE_FLOW_ROUND_TRIP / 4, queue)
    )
    transport = Tcp(BACKOFFS[case.control][0], header=HEADER, cubic_keeps=CUBIC_KEEPS)
    simulation = Simulation(network, [Flows.of(0, 1, transport)], Setting(seed=case.seed))
    bottleneck = len(network.links) - 2
    sent = []
    for until in (_WARM_UP, _WARM_UP + case.seconds):
        simulation.complete(until)
        sent.append(int(simulation.link_results().sent_bytes[bottleneck]))
    return 8e-6 * (sent[1] - sent[0]) / (case.seconds * ONE_FLOW_RATE)


def run_buffers(execution: Execution) -> Outcome:
    """Compute Table I from sizes and rates, and measure one flow with the buffers of Table II's formulas."""
    seconds = execution.sized(10.0, 60.0)
    keyed = {
        (name, part): [BufferRun(name, part * needed(backoff), seconds, seed) for seed in execution.seeds]
        for name, (_, backoff) in BACKOFFS.items()
        for part in PARTS
    }
    with execution.swept(utilisation, keyed) as found:
        lines = lines_of({name: name for name in BACKOFFS}, PARTS, lambda name, part: found[name, part])
        return execution.written(_chips(), _transports(lines))


def _chips() -> Exhibit:
    rows = PUBLISHED_TABLES["chips"]
    points = []
    for name, (megabytes, gbits, theirs) in rows.items():
        ours = 1024 * megabytes / gbits
        points.append(Point.of(name, [ours], theirs))
    return packet_exhibit(
        name="flashpass-buffers-chips",
        title="memory of switching chips",
        reproduces="FlashPass Table I",
        axis="chip",
        quantity="KB per port and Gbit/s",
        lines=(Line("total memory / total rate", tuple(points)),),
    )


def _transports(lines: Sequence[Line]) -> Exhibit:
    checks = []
    for line in lines:
        whole, _, tenth = (point.value or 0.0 for point in line.points)
        checks.append(order(f"{line.label} with the buffer by formula", whole, low=FULL))
        checks.append(order(f"{line.label} with a tenth of it", tenth, high=LESS))
    formulas = ", ".join(f"{needed(backoff):.3g} ({name})" for name, (_, backoff) in BACKOFFS.items())
    return Exhibit(
        name="flashpass-buffers-transports",
        title="one flow with the buffer that its control needs by formula, and with less",
        reproduces="FlashPass Table II",
        backend="packet",
        axis="part of the buffer by formula",
        quantity="utilisation",
        lines=tuple(lines),
        published="FlashPass (Zeng et al., ICNP 2021), Table II, formulas",
        checks=tuple(checks),
        remarks=(
            f"Buffers by formula, in bandwidth-delay products: {formulas}.",
            "The paper has the same: its Cubic falls by a fifth, that of RFC 9438 by three tenths.",
            f"{ONE_FLOW_RATE:g} Mbit/s, round trip {1000 * ONE_FLOW_ROUND_TRIP:g} ms, after {_WARM_UP:g} s.",
        ),
    )


_IN_FULL = "ten sizes of the buffer, as in the paper (default: five)"
EXPERIMENTS = offered(
    {
        "flashpass-fig2": Offered(run_fig2, full=_IN_FULL, configure=configure),
        "flashpass-buffers": Offered(run_buffers, without=("full",)),
    }
)
