"""Repeats a run that a busy machine disturbed and, when that does not help, all runs on slower links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol, TypeVar

from experiments.result import Result

ATTEMPTS = 3
"""How often a run is made when the machine is too busy for it to be believed."""


class Measured(Protocol):
    """What a run has measured.

    Attributes:
        invalid: why it should not be believed, in words; nothing for a good one.
    """

    @property
    def invalid(self) -> tuple[str, ...]: ...


_Measured = TypeVar("_Measured", bound=Measured)


def believable(run: Callable[[], _Measured], name: str, say: Callable[[str], None]) -> _Measured:
    """The first result of `run` on a machine that was not too busy, else that of the last attempt.

    Args:
        run: measures once.
        name: of the run, for people.
        say: tells the user why it is repeated.
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
    """The results for the first capacity of which each can be believed, else those for the last capacity.

    Args:
        capacities: of links in Mbit/s, at least one, each tried when the machine was too busy for the one before.
        measure: measures one result after the other on links of a capacity; is not asked on after one that is invalid
            when there is another capacity.
        say: tells the user why everything is measured again.
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
