"""Tables I and II: buffers that chips have, and those that reactive transports need, by formula and in the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.experiment import Outcome
from experiments.flashpass.schemes import CUBIC_KEEPS, HEADER, PUBLISHED, packet_exhibit
from experiments.grid import Execution, Offered, lines_of, offered
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.score import order
from simulator.packet.credited import DATA
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import Bottleneck, dumbbell
from simulator.packet.transports import Congestion, Tcp

RATE, ROUND_TRIP = 100.0, 0.04
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
    product = RATE * 1e6 / 8 * ROUND_TRIP
    queue = Fifo(max(DATA, round(case.products * product)))
    network = dumbbell(1, 10 * RATE, ROUND_TRIP / 8, Bottleneck(RATE, ROUND_TRIP / 4, queue))
    transport = Tcp(BACKOFFS[case.control][0], header=HEADER, cubic_keeps=CUBIC_KEEPS)
    simulation = Simulation(network, [Flows.of(0, 1, transport)], Setting(seed=case.seed))
    bottleneck = len(network.links) - 2
    sent = []
    for until in (_WARM_UP, _WARM_UP + case.seconds):
        simulation.complete(until)
        sent.append(int(simulation.link_results().sent_bytes[bottleneck]))
    return 8e-6 * (sent[1] - sent[0]) / (case.seconds * RATE)


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
    rows = PUBLISHED["chips"]
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
            f"{RATE:g} Mbit/s, round trip {1000 * ROUND_TRIP:g} ms, after {_WARM_UP:g} s.",
        ),
    )


EXPERIMENTS = offered({"flashpass-buffers": Offered(run_buffers, without=("full",))})
