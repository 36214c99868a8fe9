"""Shuffles data among the hosts of the emulated testbed, under one scheme after the other."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from statistics import fmean
from typing import Any

from experiments.hedera.shuffle import ShuffleOptions, receivers_of
from experiments.hedera.shuffle_flow import FlowShuffle
from experiments.hedera.testbed import ANNEALING, ECMP, ONE_TREE
from experiments.hedera.testbed_lab import ATTEMPTS, HederaLab, hedera_lab
from experiments.hedera.testbed_run import BUFFER_PACKETS, PORTS_OF_SWITCH
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings
from testbed.manifest import describe_computation, describe_run
from testbed.network import NetworkOptions
from testbed.transfers import Errand, Transfer, run_transfers

GAIN = 1.30
"""What annealing's bisection bandwidth is to be of one tree's; the authors' is 1.37 times what they have as ECMP."""

ON_THE_WIRE = 1518 / 1448
"""Bytes of a full frame to those of TCP's data in it: by this the authors' bisection bandwidth is above their hosts'
goodput."""

_SOURCE_PORTS = range(20000, 30000)
_SLOWEST = 20
"""Times the seconds in which a host could send everything, if nothing held it back."""


def run_shuffle(settings: Settings, options: ShuffleOptions, output: OutputFolder, progress: Progress) -> Outcome:
    """Shuffle under every scheme; write figures and all transfers."""
    found: dict[str, dict[str, Any]] = {}
    transfers: dict[str, list[dict[str, Any]]] = {}
    for scheme in options.schemes:
        if settings.backend == "flow":
            began = time.time()
            done = FlowShuffle(options, scheme, settings.seed).run()
            told = {"disturbed": (), "manifest": describe_computation(began, time.time() - began)}
        else:
            done, told = _measure(scheme, options, settings.seed, progress)
        found[scheme] = {**figures(done, options.size), **told}
        transfers[scheme] = [asdict(each) for each in done]
        progress.say(f"{scheme}: {found[scheme]['total_seconds']:.1f} s")
    data = summary(found, options, settings.seed, settings.backend)
    text = table_text(data)
    output.write_json("hedera-shuffle.json", data)
    output.write_json("hedera-shuffle-transfers.json", transfers)
    output.write_text("hedera-shuffle.txt", f"{text}\n")
    return Outcome(text, data, tuple(missed_bars(data)))


def _measure(
    scheme: str, options: ShuffleOptions, seed: int, progress: Progress
) -> tuple[list[Transfer], dict[str, Any]]:
    """Shuffle in a lab; returns with it the circumstances."""
    began = time.time()
    network = NetworkOptions(buffer_packets=BUFFER_PACKETS)
    with hedera_lab(PORTS_OF_SWITCH, options.nic_rate, scheme, options.period, network, progress.say) as lab:
        done, load, disturbed = lab.measure(partial(_shuffle, lab, options, seed))
        manifest = describe_run(lab.machine, lab.network, (), began, time.time() - began)
    return done, {"switch": load.switch, "disturbed": disturbed, "manifest": manifest}


def _shuffle(lab: HederaLab, options: ShuffleOptions, seed: int, attempt: int) -> list[Transfer]:
    hosts = [lab.network.host(site.name) for site in lab.centre.wiring.sites]
    errands = []
    for number, sender in enumerate(hosts):
        receivers = [hosts[other] for other in receivers_of(number, len(hosts), seed)]
        # Ports of an earlier attempt cannot be bound to again at once.
        ports = random.Random(f"ports {seed} {number}").sample(_SOURCE_PORTS[attempt::ATTEMPTS], len(receivers))
        errands.append(Errand(sender, list(zip(receivers, ports, strict=True))))
    least = options.size * (len(hosts) - 1) * 8 / 1e6 / options.nic_rate
    return run_transfers(errands, options.size, options.at_once, "cubic", timeout=_SLOWEST * least + 10)


def figures(transfers: Sequence[Transfer], size: int) -> dict[str, float]:
    """The authors' four figures, in seconds, Mbit/s and Mbit/s per host, of transfers of `size` bytes each."""
    ended: dict[str, float] = {}
    sent: dict[str, int] = {}
    for each in transfers:
        ended[each.source] = max(ended.get(each.source, 0.0), each.ended)
        sent[each.source] = sent.get(each.source, 0) + size
    completion = fmean(ended.values())
    goodput = fmean(sent.values()) * 8 / 1e6 / completion
    return {
        "total_seconds": max(ended.values()),
        "mean_completion_seconds": completion,
        "bisection_mbps": goodput * len(ended) * ON_THE_WIRE,
        "host_goodput_mbps": goodput,
    }


def summary(found: Mapping[str, Mapping[str, Any]], options: ShuffleOptions, seed: int, backend: str) -> dict[str, Any]:
    text = (files("experiments.published") / "hedera_shuffle.json").read_text(encoding="utf-8")
    theirs = json.loads(text)
    return {
        "experiment": "hedera-shuffle",
        "backend": backend,
        "seed": seed,
        **asdict(options),
        "measured": found,
        "published": theirs["schemes"],
        "source": theirs["source"],
    }


def missed_bars(data: Mapping[str, Any]) -> list[str]:
    """In words, what is not as it should be."""
    measured = data["measured"]
    if not {ONE_TREE, ANNEALING} <= measured.keys():
        return []
    gain = _gain(measured, ANNEALING, ONE_TREE)
    return (
        [] if gain >= GAIN else [f"annealing has {gain:.2f} times one tree's bisection bandwidth, expected {GAIN:.2f}"]
    )


def _gain(measured: Mapping[str, Mapping[str, float]], better: str, worse: str) -> float:
    return measured[better]["bisection_mbps"] / measured[worse]["bisection_mbps"]


def table_text(data: Mapping[str, Any]) -> str:
    """For people; the authors' figures are scaled to our rate and time."""
    rate, scale = data["nic_rate"] / 1000, data["time_scale"]
    lines = [
        f"Shuffle among 16 hosts, {data['size'] / 1e6:g} MB from each to each, {data['at_once']} at a time,",
        f"over links of {data['nic_rate']:g} Mbit/s [published, scaled to that]",
        "",
        f"{'':<22}{'all done (s)':>18}{'a host done (s)':>18}{'bisection (Mbit/s)':>20}{'host (Mbit/s)':>18}",
    ]
    for scheme, ours in data["measured"].items():
        theirs = data["published"][ECMP if scheme == ONE_TREE else scheme]
        cells = (
            f"{ours['total_seconds']:.1f} [{theirs['total_seconds'] * scale:.1f}]",
            f"{ours['mean_completion_seconds']:.1f} [{theirs['mean_completion_seconds'] * scale:.1f}]",
            f"{ours['bisection_mbps']:.1f} [{theirs['bisection_gbps'] * 1000 * rate:.1f}]",
            f"{ours['host_goodput_mbps']:.2f} [{theirs['host_goodput_mbytes'] * 8 * rate:.2f}]",
        )
        widths = (18, 18, 20, 18)
        lines.append(f"{scheme:<22}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
    measured = data["measured"]
    if ECMP in measured:
        gains = (f"{scheme} {_gain(measured, scheme, ECMP):.2f}" for scheme in measured if scheme != ECMP)
        lines += ["", f"Bisection bandwidth, of ecmp's: {', '.join(gains)}"]
    disturbed = [f"{scheme}: {'; '.join(ours['disturbed'])}" for scheme, ours in measured.items() if ours["disturbed"]]
    if disturbed:
        lines += ["", "Measured on a machine that was too busy, which costs goodput:", *disturbed]
    return "\n".join(lines)
