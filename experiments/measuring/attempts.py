"""Repeats a run that a busy machine disturbed and, if that does not help, repeats all runs on slower links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol, TypeVar

from experiments.results.result import Result

ATTEMPTS = 3
"""Attempts at a run before a busy machine's result is taken as it is."""


class Measured(Protocol):
    """Result of a run.

    Attributes:
        invalid: reasons not to trust it, in words; empty for a good result.
    """

    @property
    def invalid(self) -> tuple[str, ...]: ...


_Measured = TypeVar("_Measured", bound=Measured)


def believable(run: Callable[[], _Measured], name: str, say: Callable[[str], None]) -> _Measured:
    """Return the first result of `run` from a machine that was not too busy, else that of the last attempt.

    Args:
        run: measures once.
        name: of the run, for messages.
        say: prints why the run is repeated.
    """
    for attempt in range(1, ATTEMPTS):
        result = run()
        if not result.invalid:
            return result
        say(f"{name}, attempt {attempt} of {ATTEMPTS}, is not used: {'; '.join(result.invalid)}")
    return run()


def runs_on_links_it_can_carry(
    capacities: Sequence[float], measure: Callable[[float], Iterator[Result]], say: Callable[[str], None]
) -> list[Result]:
    """Return the results for the first capacity at which all are valid, else those for the last capacity.

    Args:
        capacities: of links in Mbit/s, at least one; the next is tried when the machine was too busy for the last one.
        measure: yields the results for a capacity one by one; iteration stops at the first invalid one while another
            capacity is left.
        say: prints why everything is measured again.
    """
    for capacity, lower in pairwise(capacities):
        results = []
        for result in measure(capacity):
            if result.invalid:
                say(f"{'; '.join(result.invalid)}: everything again on links of {lower:g} Mbit/s")
                break
            results.append(result)
        else:
            return results
    return list(measure(capacities[-1]))
