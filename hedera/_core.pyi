from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int32]

class FatTreeRoutes:
    def __init__(self, half: int, source: Ints, target: Ints) -> None: ...

class TableRoutes:
    def __init__(
        self,
        links: int,
        labels: int,
        first: NDArray[np.int64],
        hops: Ints,
        row: Ints,
        target: Ints,
        hosts: int,
    ) -> None: ...

class FlowBook:
    def __init__(self, switches: int) -> None: ...
    def read(
        self,
        time: float,
        switches: Ints,
        first: NDArray[np.int64],
        key: NDArray[np.uint64],
        bytes: NDArray[np.uint64],  # noqa: A002
        age: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], Ints]: ...
    def note(self, label: Ints) -> None: ...

Routes: TypeAlias = FatTreeRoutes | TableRoutes

def estimate(
    hosts: int, source: Ints, target: Ints, nic_rate: float, most_rounds: int
) -> tuple[NDArray[np.float64], int, bool]: ...
def anneal(
    routes: Routes,
    amount: Ints,
    capacity: Ints,
    label: Ints,
    host: Ints,
    ranges: tuple[Ints, Ints, Ints],
    fee: NDArray[np.int64],
    schedule: tuple[int, float, float, int],
) -> tuple[Ints, int, int, int]: ...
def refine(
    routes: Routes,
    amount: Ints,
    capacity: Ints,
    choice: Ints,
    home: Ints,
    fee: Ints,
    schedule: tuple[int, float, float, int],
) -> tuple[Ints, int, int, int]: ...
def first_fit(routes: Routes, amount: Ints, capacity: Ints, choice: Ints) -> Ints: ...
