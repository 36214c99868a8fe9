"""The result of one run of an experiment: plain data, and the same as JSON, whichever backend it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kuijia_base.errors import InputError, key_path, quoted
from kuijia_base.json_document import read_json
from kuijia_base.reading import reading
from kuijia_base.validation import first_faults, make_validator

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def refuse_fault(data: object, validator: Draft202012Validator, source: str | Path) -> None:
    """Raise InputError for the first violation of a schema; names `source` and the place of the fault as the key."""
    fault = min(first_faults(validator, data), key=lambda error: error.json_path, default=None)
    if fault is not None:
        assert isinstance(fault.schema, Mapping), "a fault is found by the part of our schema for its place"
        place = key_path(tuple(fault.absolute_path))
        expected = fault.schema.get("description") or quoted(fault.message)  # which has the value, however long
        raise InputError(source, place, "breaks the schema", str(expected))


FORMAT = "kuijia-result"
MOST_GOODPUT = 2.0
"""Relative to a flow's rate limit: a file with more is damaged. A flow that catches up for half a second in a
window of two has 1.25 of it, one of few packets some more."""

VERSION = 2
"""Version 1 has no `parameters`, and of flows no `priority` and `sent`; it is read as well."""

Protocol = Literal["tcp", "udp"]

Role = Literal["aboriginal", "victim", "direct", "indirect"]
"""`victim`: its tunnel crosses the failed link. `direct`: it shares a link with a victim's new tunnel. `indirect`: it
shares a link with a direct one. `aboriginal`: none of these. Each flow has the first that fits."""


@dataclass(frozen=True)
class Series:
    """Goodput over time: interval k lasts from `start[k]` to `end[k]`, in seconds since the run began, in Mbit/s."""

    start: tuple[float, ...]
    end: tuple[float, ...]
    goodput: tuple[float, ...]


@dataclass(frozen=True)
class FlowResult:
    """Goodput of a flow before and after the failure.

    Attributes:
        source, target: its ingress and egress.
        offered: its limit in Mbit/s on the wire.
        before, after: mean goodput in Mbit/s.
        tunnel_before, tunnel_after: the nodes of the tunnel it was seen to use, None when it was not seen.
        low_after: whether it was seen in the low queue after the failure, None when it was not seen.
        series: its goodput over time; empty for backends without time.
        priority: the class of its traffic, 0 the most important.
        sent: mean rate in Mbit/s, of the same bytes as goodput, that a UDP flow was sent with after the failure; None
            for TCP, which sends no more than arrives.
    """

    name: str
    role: Role
    protocol: Protocol
    source: str
    target: str
    offered: float
    before: float
    after: float
    tunnel_before: tuple[str, ...] | None = None
    tunnel_after: tuple[str, ...] | None = None
    low_after: bool | None = None
    series: Series = field(default_factory=lambda: Series((), (), ()))
    priority: int = 0
    sent: float | None = None

    @property
    def ratio(self) -> float | None:
        """Share that the flow kept, `after / before`; None if it had nothing to lose."""
        return self.after / self.before if self.before > 0 else None

    @property
    def loss(self) -> float | None:
        """Share lost: for UDP of the rate sent after the failure, for TCP of its goodput; negative for a gain."""
        if self.sent is not None:
            return 1 - self.after / self.sent if self.sent > 0 else None
        return None if self.ratio is None else 1 - self.ratio


ORDER, LIMIT, SIZE = "order: ", "limit: ", "size: "
"""First words of the names of bars that are about an order or effect only; about a bound, the paper's or our own; and
about a size, made of an exhibit's points (`experiments.reporting.verdict`)."""

Kind = Literal["order", "limit", "size"]

_ROUNDING = 1e-9
"""Relative: the error of a bound that was computed."""


@dataclass(frozen=True)
class Check:
    """A number that the run is held against: it passes when `low <= measured <= high`, a missing bound being none.

    Attributes:
        published: the number between the bounds, None if the paper prints none.
        cause: short reason for a known difference in size; empty for none.
        spread: of an order: half the distance between the lowest and the highest seed; None if unknown.

    Raises:
        ValueError: the published number misses the bar itself.
    """

    name: str
    measured: float
    low: float | None
    high: float | None
    published: float | None = None
    cause: str = ""
    spread: float | None = None

    def __post_init__(self) -> None:
        if self.published is not None and not self._holds(self.published):
            raise ValueError(f"the published {self.published:g} misses its own bar, {self.name}: {self.bar}")

    def _holds(self, value: float) -> bool:
        slack = _ROUNDING * abs(value)
        return (self.low is None or value >= self.low - slack) and (self.high is None or value <= self.high + slack)

    @property
    def kind(self) -> Kind:
        """Subject of the bar. With bounds on both sides it is about a size, if its name says nothing else."""
        if self.name.startswith(LIMIT):
            return "limit"
        sided = self.low is None or self.high is None
        return "order" if sided or self.name.startswith(ORDER) else "size"

    @property
    def is_order(self) -> bool:
        """True for an order, and for a promise: bounds that are equal allow no size."""
        return self.kind == "order" or (self.kind == "size" and self.low == self.high)

    @property
    def is_tie(self) -> bool:
        """True for an order of two whose published distance is less than seeds of ours differ: either may be first."""
        if self.kind != "order" or self.published is None or self.spread is None:
            return False
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        return min(abs(self.published - bound) for bound in bounds) < self.spread

    @property
    def passed(self) -> bool:
        return self._holds(self.measured) or self.is_tie

    @property
    def is_broken(self) -> bool:
        """True if an experiment has failed by this check: an order, a limit or a promise does not hold.

        A size that differs from the published one is a verdict, not a failure. Equal bounds allow no size: they are a
        promise, such as that all of the cuts were survived.
        """
        return not self.passed and (self.is_order or self.kind == "limit")

    @property
    def excess(self) -> float:
        """The distance from the middle of the bounds, in parts of the margin: above 1 the bar is missed.

        With one bound only it is 0 for a bar that is met and infinite for one that is missed.
        """
        if self.low is None or self.high is None or self.low == self.high:
            return 0.0 if self.passed else inf
        return abs(2 * self.measured - self.low - self.high) / (self.high - self.low)

    @property
    def bar(self) -> str:
        """The bounds in words."""
        if self.low is not None and self.high is not None:
            published = "" if self.published is None else f" (published {self.published:.3g})"
            return f"{self.low:.3g} to {self.high:.3g}{published}"
        return f"at least {self.low:.3g}" if self.low is not None else f"at most {self.high:.3g}"


def check_to_json(check: Check) -> dict[str, Any]:
    """Return a check as JSON data, without members that it leaves open."""
    data = {**asdict(check), "passed": check.passed}
    for key, nothing in (("published", None), ("cause", ""), ("spread", None)):
        if data[key] == nothing:
            del data[key]
    return data


def check_from_json(data: Mapping[str, Any]) -> Check:
    """Return the check in JSON data that keep the schema."""
    return Check(**{key: data[key] for key in Check.__dataclass_fields__ if key in data})


@dataclass(frozen=True)
class NoticedCut:
    """The cut of a link: the link, the time (seconds since the run began), and by whom it was noticed."""

    link: tuple[str, str]
    at: float
    event: Mapping[str, Any]


@dataclass(frozen=True)
class Window:
    """A span of time that is averaged over, in seconds since the run began."""

    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run with one scheme.

    Attributes:
        capacity: of a link, in Mbit/s.
        repetition: counts from 1.
        started_at: when the run began, in seconds since the epoch.
        published: the paper's figures for this scheme, None where it has none.
        invalid: reasons why the run must not be used; empty for a good one.
        manifest: conditions of the measurement: versions, machine, options, calibration, load.
        parameters: values that the experiment varies from run to run, besides the scheme and the failed link.
    """

    experiment: str
    backend: str
    scheme: str
    seed: int
    repetition: int
    capacity: float
    started_at: float
    failure: NoticedCut
    before: Window
    after: Window
    flows: tuple[FlowResult, ...]
    published: Mapping[str, Any] | None = None
    checks: tuple[Check, ...] = ()
    invalid: tuple[str, ...] = ()
    manifest: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def flow(self, name: str) -> FlowResult:
        return next(flow for flow in self.flows if flow.name == name)

    @property
    def passed(self) -> bool:
        return not self.invalid and all(check.passed for check in self.checks)


def result_to_json(result: Result) -> dict[str, Any]:
    """Return the result as JSON data, as described by `experiments/results/schemas/result.schema.json`."""
    data = asdict(result)
    for flow, entry in zip(result.flows, data["flows"], strict=True):
        entry["loss"] = flow.loss
    data["checks"] = [check_to_json(check) for check in result.checks]
    # One pass through JSON turns tuples into lists, so that the validated data are the written data.
    plain: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **data}, allow_nan=False))
    return plain


def result_from_json(data: object, source: str | Path) -> Result:
    """Return the result in JSON data; derived values are computed again.

    Raises:
        InputError: the data break the schema, or a flow got more than it can have been sent; its source is `source`,
            its place the key.
    """
    refuse_fault(data, _validator(), source)
    assert isinstance(data, dict), "the schema asks for an object"
    fields = {key: value for key, value in data.items() if key not in {"format", "version"}}
    for number, flow in enumerate(fields["flows"]):
        lengths = {key: len(values) for key, values in flow["series"].items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{length} of {key}" for key, length in lengths.items())
            raise InputError(source, key_path(("flows", number, "series")), found, "lists of one length")
        for key in ("before", "after"):
            if flow[key] > MOST_GOODPUT * flow["offered"]:
                place = key_path(("flows", number, key))
                bound = f"at most {MOST_GOODPUT:g} times the {flow['offered']:g} Mbit/s that are offered"
                raise InputError(source, place, f"{flow[key]:g} Mbit/s cannot be", bound)
    failure = fields["failure"]
    return Result(
        **{
            **fields,
            "failure": NoticedCut(tuple(failure["link"]), failure["at"], failure["event"]),
            "before": Window(**fields["before"]),
            "after": Window(**fields["after"]),
            "flows": tuple(_flow(entry) for entry in fields["flows"]),
            "checks": tuple(map(check_from_json, fields["checks"])),
            "invalid": tuple(fields["invalid"]),
        }
    )


def load_result(path: Path) -> Result:
    """Return the result in a JSON file; raises InputError, whose place is a key or, if the text is no JSON, a line."""
    expected = "a result in JSON"
    data = read_json(path, "a result file", expected)
    with reading(path, expected):
        return result_from_json(data, path)


def result_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a result file."""
    text = (files("experiments.results") / "schemas" / "result.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@cache
def _validator() -> Draft202012Validator:
    return make_validator(result_schema())


def _flow(entry: dict[str, Any]) -> FlowResult:
    fields = {key: value for key, value in entry.items() if key != "loss"}
    fields["series"] = Series(**{key: tuple(values) for key, values in fields["series"].items()})
    for key in ("tunnel_before", "tunnel_after"):
        if fields[key] is not None:
            fields[key] = tuple(fields[key])
    return FlowResult(**fields)
