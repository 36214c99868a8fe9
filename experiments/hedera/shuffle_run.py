"""Shuffles data among the hosts of the emulated testbed, under one scheme after the other."""

from __future__ import annotations

import random
import time
from dataclasses import asdict
from functools import partial
from typing import Any

from experiments.experiment import Outcome, Settings
from experiments.hedera.shuffle_cases import ShuffleOptions, receivers_of
from experiments.hedera.shuffle_flow import flow_shuffle
from experiments.hedera.shuffle_report import NAME, exhibits, figures, summary
from experiments.hedera.testbed_lab import ATTEMPTS, HederaLab, hedera_lab
from experiments.hedera.testbed_run import BUFFER_PACKETS, PORTS_OF_SWITCH
from experiments.reporting.exhibit_output import write_study
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from testbed.lab.manifest import describe_run
from testbed.network.network_options import NetworkOptions
from testbed.traffic.transfers import Errand, Transfer, run_transfers

_SOURCE_PORTS = range(20000, 30000)
_SLOWEST = 20
"""Time limit, as a multiple of the time a host needs to send everything unhindered."""


def run_shuffle(settings: Settings, options: ShuffleOptions, output: OutputFolder, progress: Progress) -> Outcome:
    """Shuffle under every scheme; write figures and all transfers."""
    found: dict[str, dict[str, Any]] = {}
    transfers: dict[str, list[dict[str, Any]]] = {}
    for scheme in options.schemes:
        if settings.backend == "flow":
            began = time.time()
            done = flow_shuffle(options, scheme, settings.seed)
            told = {"disturbed": (), "manifest": describe_computation(began, time.time() - began)}
        else:
            done, told = _measure(scheme, options, settings.seed, progress)
        found[scheme] = {**figures(done, options.size), **told}
        transfers[scheme] = [asdict(each) for each in done]
        progress.say(f"{scheme}: {found[scheme]['total_seconds']:.1f} s")
    data = summary(found, options, settings.seed, settings.backend)
    output.write_json(f"{NAME}-transfers.json", transfers)
    return write_study(NAME, data, exhibits(data), output)


def _measure(
    scheme: str, options: ShuffleOptions, seed: int, progress: Progress
) -> tuple[list[Transfer], dict[str, Any]]:
    """Shuffle in a lab and return the transfers and the circumstances."""
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
        # The ports of an earlier attempt cannot be bound again at once.
        ports = random.Random(f"ports {seed} {number}").sample(_SOURCE_PORTS[attempt::ATTEMPTS], len(receivers))
        errands.append(Errand(sender, list(zip(receivers, ports, strict=True))))
    least = options.size * (len(hosts) - 1) * 8 / 1e6 / options.nic_rate
    return run_transfers(errands, options.size, options.at_once, "cubic", timeout=_SLOWEST * least + 10)
