"""The rooms of compiled cores that `./run mutants` knows."""

from __future__ import annotations

from tests.mutants.core_room import CoreRoom

_PACKET = "simulator/packet"
_STEPS = ("tcp_ends", "recovery_steps", "queue_steps", "steps")
_CHOICES = ("path_selection", "conga", "load_balancing", "sender_side_balancing", "label_switching", "table_switching")
_UNITS = f"{_PACKET}/core"


def _packets(
    name: str,
    files: tuple[str, ...],
    parts: dict[str, str],
    tests: tuple[str, ...],
    others: tuple[str, ...] = (),
    nearest: tuple[str, ...] = _STEPS,
) -> CoreRoom:
    """Return a room of the packet core; `parts` are files that tests of `nearest` chosen by words are nearest to.

    `tests` are modules beside these, `others` files elsewhere.
    """
    modules = [f"tests/{_PACKET}/test_{module}.py" for module in nearest]
    return CoreRoom(
        name,
        _PACKET,
        tuple(f"{_UNITS}/{file}" for file in files),
        {f"*/{file}": (*modules, "-k", words) for file, words in parts.items()},
        (*(f"tests/{_PACKET}/test_{test}.py" for test in tests), *others),
    )


CORE_ROOMS: tuple[CoreRoom, ...] = (
    _packets(
        "transports",
        ("transports/*.cpp",),
        {
            "congestion*.cpp": "windows or cubic",
            **{f"{control}.cpp": control for control in ("bbr", "copa", "vegas")},
            "delivery_rate.cpp": "bbr",
            "expresspass.cpp": "credit or expresspass or public_code",
            "flashpass.cpp": "flashpass or emulation",
            **dict.fromkeys(("credited.cpp", "segments.cpp"), "flashpass or emulation or reported"),
            "resequencer.cpp": "resequencer",
            "tcp.cpp": "tcp_ends",
            "tcp_receiver.cpp": "receiver_of_tcp",
            "tcp_sender.cpp": "timer or threshold or segments or mark",
        },
        ("credit_rates", "tcp", "credited", "delay_based", "resequencing", "simulation"),
    ),
    _packets(
        "balancers",
        ("routing/*.cpp",),
        {
            **dict.fromkeys(("hermes.cpp", "sensed_path.cpp", "rack_*.cpp"), "hermes or answers_avoid or probe"),
            "clove_ecn.cpp": "clove or weight or flowlets_of_senders or acknowledgements_take",
            "cong*.cpp": "test_conga",
            "flow_bender.cpp": "flowbender or flows_move",
            "flow_cells.cpp": "cells",
            "flowlets.cpp": "flowlets",
            "label_switched.cpp": "label",
            "paths_in_turn.cpp": "turn or round or in_a_row",
            "shortest_paths.cpp": "load_balancing or test_conga",
            **dict.fromkeys(("flow_tables.cpp", "table_switched.cpp"), "table_switching"),
        },
        _CHOICES,
        ("tests/simulator/planned/test_switch_pipeline.py",),
        ("choice_steps", "steps", *_CHOICES),
    ),
    _packets(
        "queues",
        ("queues/*.cpp", "queues/admission.hpp"),
        {
            "admission.hpp": "rules_of_queues or (red or threshold) and not drop_thresholds",
            "buffer.cpp": "tokens or red_counts or link_fails or victims or drop or crosspoints or each_byte or alone",
            "crosspoints.cpp": "crosspoints",
            "drop_thresholds.cpp": "thresholds or droppable or link_fails",
            "hashed_credits.cpp": "hashed_credits or tokens or link_fails",
            "rounds.cpp": "weight or round_robin or crosspoints or link_fails",
            "round_robin.cpp": "weight or round_robin",
            "shared_buffer.cpp": "shared_buffer or busy_output or link_fails",
            "strict_priority.cpp": "tokens or priorit or levels or refused or link_fails",
        },
        ("queue_steps", "shared_shaping", "table_switching", "disciplines", "simulation", "queueing_theory", "tcp"),
        nearest=("queue_steps", "steps", "disciplines", "simulation", "shared_shaping", "table_switching"),
    ),
    CoreRoom(
        "fluid-core", "simulator/flow", ("simulator/flow/core/[!b]*.cpp",), {}, ("tests/simulator/flow/test_model.py",)
    ),
    CoreRoom(
        "hedera-core",
        "hedera",
        ("hedera/core/[!b]*.cpp",),
        {},
        (
            "tests/hedera/test_kernels.py",
            "tests/hedera/test_scheduling_round.py",
            "tests/hedera/test_demand_estimation.py",
        ),
    ),
)
