"""The rooms of compiled cores that `./run mutants` knows."""

from __future__ import annotations

from tests.mutants.core_room import CoreRoom

_PACKET = "simulator/packet"
_STEPS = tuple(f"tests/{_PACKET}/test_{name}.py" for name in ("tcp_ends", "recovery_steps", "steps"))
_UNITS = f"{_PACKET}/core"


def _packets(
    name: str, files: tuple[str, ...], parts: dict[str, str], tests: tuple[str, ...], others: tuple[str, ...] = ()
) -> CoreRoom:
    """Return a room of the packet core; `parts` are files that tests of `steps` chosen by words are nearest to.

    `tests` are modules beside these, `others` files elsewhere.
    """
    return CoreRoom(
        name,
        _PACKET,
        tuple(f"{_UNITS}/{file}" for file in files),
        {f"*/{file}": (*_STEPS, "-k", words) for file, words in parts.items()},
        (*(f"tests/{_PACKET}/test_{test}.py" for test in tests), *others),
    )


CORE_ROOMS: tuple[CoreRoom, ...] = (
    _packets(
        "transports",
        ("transports/*.cpp",),
        {
            "congestion*.cpp": "windows or cubic",
            **dict.fromkeys(("bbr.cpp", "copa.cpp", "vegas.cpp", "delivery_rate.cpp"), "by_delay or bbr"),
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
        {"hermes.cpp": "hermes", "sensed_path.cpp": "hermes", "rack_*.cpp": "hermes"},
        ("path_selection", "conga", "load_balancing", "sender_side_balancing", "label_switching", "table_switching"),
        ("tests/simulator/planned/test_switch_pipeline.py",),
    ),
    _packets(
        "queues",
        ("queues/*.cpp", "queues/admission.hpp"),
        {"admission.hpp": "red", "strict_priority.cpp": "tokens", "buffer.cpp": "tokens"},
        ("shared_shaping", "table_switching", "disciplines", "simulation", "queueing_theory", "tcp"),
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
