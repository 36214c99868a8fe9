"""Tables and pictures of transports under the victims' queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from experiments.results.bars import limit
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.victim_transports.cases import PLACES, Case, Conditions, Service

Found = Sequence[tuple[Case, Mapping[str, Any]]]
"""Cases with what `run.outcome` found."""

UNTOUCHED = 97.0
"""Per cent that the others keep at least where the scheme demotes all that victims send: our own bar."""

_PROTECTED = (Service.PLAIN, Service.MARKED, Service.OWN, Service.SHARED)


def exhibits(found: Found, conditions: Conditions) -> Iterator[Exhibit]:
    """Yield three exhibits for each network: what victims get, what the others keep, what victims lose."""
    for place in dict.fromkeys(case.place for case, _ in found):
        mine = [(case, data) for case, data in found if case.place == place]
        title = PLACES[place]
        yield _exhibit(f"{place}-victims", f"goodput of victims; {title}", mine, _kept("victim"), conditions)
        yield _exhibit(
            f"{place}-others",
            f"goodput of the flows whose links victims take; {title}",
            mine,
            _kept("direct"),
            conditions,
            tuple(_checks(mine)),
        )
        yield _exhibit(f"{place}-lost", f"data lost by victims; {title}", mine, _lost, conditions)


def _exhibit(
    name: str,
    title: str,
    found: Found,
    value: Callable[[Mapping[str, Any]], float | None],
    conditions: Conditions,
    checks: Sequence[Check] = (),
) -> Exhibit:
    names = dict.fromkeys(case.transport for case, _ in found)
    lines = []
    for label in dict.fromkeys(case.line for case, _ in found):
        of_line = [(case, data) for case, data in found if case.line == label]
        values = {x: [value(data) for case, data in of_line if case.transport == x] for x in names}
        lines.append(Line(label, tuple(Point.of(x, each) for x, each in values.items() if each)))
    lost = value is _lost
    remark = (
        f"Links of {conditions.capacity:g} Mbit/s and {1000 * conditions.link_delay:g} ms, queues of"
        f" {conditions.buffer_packets} packets; means over {conditions.after:g} s, from {conditions.settle:g} s after"
        " the failure on. `kuijia, marks` marks packets of victims from a quarter of the queue on. Credits of victims"
        " wait with the others' (mixed), behind them with as many again (apart), or get what they leave (left)."
    )
    return Exhibit(
        name=f"victim-transports-{name}",
        title=title,
        reproduces="A question of our own",
        backend="packet",
        axis="transport",
        quantity="% of the packets sent after the failure" if lost else "% of the goodput before the failure",
        lines=tuple(lines),
        checks=tuple(checks),
        remarks=(remark,),
    )


def _kept(role: str) -> Callable[[Mapping[str, Any]], float | None]:
    def share(data: Mapping[str, Any]) -> float | None:
        of_role = data["roles"].get(role)
        return 100 * float(of_role["after"]) / float(of_role["before"]) if of_role and of_role["before"] else None

    return share


def _lost(data: Mapping[str, Any]) -> float | None:
    """Return 0 where nothing is sent any more."""
    of_role = data["roles"].get("victim")
    if of_role is None:
        return None
    return 100 * float(of_role["dropped"]) / max(1, int(of_role["sent"]), int(of_role["dropped"]))


def _checks(found: Found) -> Iterator[Check]:
    kept = _kept("direct")
    for case, data in found:
        value = kept(data)
        if case.service in _PROTECTED and value is not None:
            name = f"{case.transport} with {case.line}, run {case.repetition}: kept by the others in %"
            yield limit(name, value, low=UNTOUCHED)
