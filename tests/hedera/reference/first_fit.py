"""Global first fit as in the paper."""

from __future__ import annotations

from hedera.network.fabric import HASHED, Fabric, Ints


def first_fit(fabric: Fabric, source: Ints, target: Ints, amount: Ints, capacity: Ints, choice: Ints) -> list[int]:
    """Return what the kernel's `first_fit` returns."""
    left = capacity.tolist()
    found: list[int] = choice.tolist()
    ends = list(zip(source.tolist(), target.tolist(), amount.tolist(), strict=True))

    def inner(flow: int, label: int) -> tuple[int, ...]:
        """Return the links of the path between switches."""
        return fabric.path(ends[flow][0], ends[flow][1], label)[1:-1]

    def reserve(flow: int) -> None:
        for link in inner(flow, found[flow]):
            left[link] -= ends[flow][2]

    for flow in range(len(ends)):
        if found[flow] != HASHED:
            reserve(flow)
    for flow, (_, _, asked) in enumerate(ends):
        if found[flow] != HASHED:
            continue
        for label in range(fabric.labels):
            if all(capacity[link] > 0 and left[link] >= asked for link in inner(flow, label)):
                found[flow] = label
                reserve(flow)
                break
    return found
