from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

NEVER: int
LONGEST: int

class Marking:
    NONE: ClassVar[Marking]
    THRESHOLD: ClassVar[Marking]
    RED: ClassVar[Marking]

class Overflow:
    TAIL: ClassVar[Overflow]
    RANDOM: ClassVar[Overflow]

class Classifier:
    LEVEL: ClassVar[Classifier]
    INPUT: ClassVar[Classifier]
    CREDITS: ClassVar[Classifier]

class Order:
    STRICT: ClassVar[Order]
    ROUND_ROBIN: ClassVar[Order]

class Control:
    RENO: ClassVar[Control]
    CUBIC: ClassVar[Control]
    DCTCP: ClassVar[Control]

class QueueRules:
    def __init__(
        self,
        *,
        limit: int,
        marking: Marking,
        low: int,
        high: int,
        probability: float,
        weight: float,
        overflow: Overflow,
        mark_random: bool,
        shaped: int,
        burst: int,
        cell: int,
    ) -> None: ...

class HashedCreditsRules:
    def __init__(self, *, bins: int, per_bin: int, hashed_anew_after: int) -> None: ...

class Queueing:
    def __init__(
        self,
        *,
        classifier: Classifier,
        order: Order,
        queues: Sequence[QueueRules],
        weights: Sequence[int],
        hashed_credits: HashedCreditsRules = ...,
    ) -> None: ...

class TcpRules:
    def __init__(
        self,
        *,
        control: Control,
        sack: bool,
        handshake: bool,
        ecn: bool,
        payload: int,
        header: int,
        initial_window: float,
        receive_window: int,
        counting_limit: float,
        gain: float,
        least_marked: float,
        first_timeout: int,
        least_timeout: int,
        most_timeout: int,
        card_packets: int,
        acknowledge_every: int,
        acknowledge_within: int,
    ) -> None: ...

class Scenario:
    def __init__(self, seed: int) -> None: ...
    def set_queueings(self, queueings: Sequence[Queueing]) -> None: ...
    def set_tcp(self, rules: Sequence[TcpRules]) -> None: ...
    def set_links(
        self,
        rate: NDArray[Any],
        delay: NDArray[Any],
        loss: NDArray[Any],
        queueing: NDArray[Any],
        place: NDArray[Any],
    ) -> None: ...
    def set_routes(self, first: NDArray[Any], links: NDArray[Any]) -> None: ...
    def set_flows(
        self,
        *,
        kind: NDArray[Any],
        level: NDArray[Any],
        rules: NDArray[Any],
        forward: NDArray[Any],
        backward: NDArray[Any],
        start: NDArray[Any],
        size: NDArray[Any],
        rate: NDArray[Any],
        packet: NDArray[Any],
    ) -> None: ...
    def add_list(self, time: NDArray[Any], size: NDArray[Any], ecn_capable: bool) -> None: ...
    def set_link_changes(self, time: NDArray[Any], link: NDArray[Any], up: NDArray[Any]) -> None: ...
    def set_route_changes(
        self, time: NDArray[Any], flow: NDArray[Any], forward: NDArray[Any], backward: NDArray[Any]
    ) -> None: ...
    def set_probes(self, links: Sequence[int], every: int) -> None: ...

class Simulation:
    def __init__(self, scenario: Scenario) -> None: ...
    def run(self, until: int, events: int) -> bool: ...
    @property
    def now(self) -> int: ...
    @property
    def unfinished(self) -> int: ...
    def flows(self) -> dict[str, NDArray[Any]]: ...
    def flow_state(self) -> dict[str, NDArray[Any]]: ...
    def links(self) -> dict[str, NDArray[Any]]: ...
    def totals(self) -> dict[str, int]: ...
    def probes(self, links: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...

class Random:
    def __init__(self, seed: int) -> None: ...
    def whole(self, bound: int, count: int) -> NDArray[np.uint64]: ...
    def unit(self, count: int) -> NDArray[np.float64]: ...
    def exponential(self, count: int) -> NDArray[np.float64]: ...
    def normal(self, count: int) -> NDArray[np.float64]: ...
