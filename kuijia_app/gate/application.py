"""The application behind the gate, as far as the gate knows it, and the events that the gate has it write down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kuijia_app.framework.seam import EventBase
from kuijia_app.gate.binding import Binding


class Report(EventBase):  # type: ignore[misc]  # the base class is one of two untyped ones
    """Something for the application's event log about a datapath id: a name from `event_log`, and details."""

    def __init__(self, name: str, datapath_id: int, details: dict[str, object]) -> None:
        super().__init__()
        self.name = name
        self.datapath_id = datapath_id
        self.details = {"datapath_id": datapath_id, **details}


@dataclass(frozen=True)
class Application:
    """The application that switches are let in to.

    Attributes:
        is_known: whether it has a switch of this datapath id; may be called on any thread.
        backlog: how many events wait for it.
        report: takes a name, a datapath id and details for its event log.
        binding: the certificates that may speak for datapath ids; without it all may that the authority has signed.
    """

    is_known: Callable[[int], bool]
    backlog: Callable[[], int]
    report: Callable[[str, int, dict[str, object]], None]
    binding: Binding | None = field(default=None)


def application_of(app: Any, is_known: Callable[[int], bool], binding: Binding | None) -> Application:  # noqa: ANN401  # an application of either framework
    """Return a framework's application as the gate sees it."""

    def report(name: str, datapath_id: int, details: dict[str, object]) -> None:
        app.send_event(app.name, Report(name, datapath_id, details))

    return Application(is_known, app.events.qsize, report, binding)
