"""Interface of the gate to the application behind it: its switches, and the events that it logs for the gate."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final

from kuijia_app.framework.seam import EventBase, app_manager, controller, handler, ofp_event, parse_message
from kuijia_app.gate.answers import Answers, PollAnswer
from kuijia_app.gate.binding import Binding
from kuijia_app.gate.elements import PacketIn
from kuijia_app.gate.frames import LAST_POLL_XID, REPLY_MORE, Frame, Kind, Multipart
from kuijia_app.gate.wire import ConnectionEndedError, Wire

_FIRST_XID: Final = LAST_POLL_XID + 1
"""First transaction id of the gate and the framework, so that these differ from an application's."""


class GatedDatapath(controller.Datapath):  # type: ignore[misc]  # the base class is one of two untyped ones
    """Inherits the interface of applications: `send_msg`, `set_xid`, `ofproto`, `ofproto_parser`.

    The framework's own message handlers are never called: this class does their work, within limits.
    """

    def __init__(self, wire: Wire, answers: Answers, address: tuple[Any, ...], datapath_id: int) -> None:
        # The framework's class would make queues, and set a time-out for its threads.
        super(controller.Datapath, self).__init__()
        self._wire = wire
        self._answers = answers
        self.address = address
        self.is_active = True
        self.xid = _FIRST_XID
        self.id = datapath_id
        self.ports: dict[int, Any] = {}
        self.ofp_brick = app_manager.lookup_service_brick(ofp_event.NAME)
        self.state = None
        self.set_state(handler.HANDSHAKE_DISPATCHER)
        self.set_state(handler.CONFIG_DISPATCHER)

    @property
    def is_described(self) -> bool:
        """True once the switch has described its ports."""
        return bool(self.state == handler.MAIN_DISPATCHER)

    def send(self, buf: bytes | bytearray, close_socket: bool = False) -> bool:  # noqa: FBT001, FBT002  # inherited
        """Send a message, or keep it until the switch reads; return False if the connection has ended."""
        self._answers.asked(buf)
        is_sent = self._wire.send(bytes(buf))
        if close_socket:
            self.close()
        return is_sent

    def close(self) -> None:
        """Request that the connection is closed soon; applications get the same event as when the switch closes it."""
        self._wire.fail(ConnectionEndedError())

    def ended(self) -> None:
        """Inform applications, once, that the connection has been closed."""
        self.is_active = False
        self.set_state(handler.DEAD_DISPATCHER)

    def ask_for_ports(self) -> None:
        """Send the request whose answer ends the first phase of a connection."""
        self.send_msg(self.ofproto_parser.OFPPortDescStatsRequest(self, 0))

    def pass_on(self, frame: Frame) -> None:
        """Pass a checked message to applications; raises the errors of the framework's parser."""
        message = parse_message(self, frame.version, frame.kind, len(frame.data), frame.xid, frame.data)
        if self.ofp_brick is not None:
            self.ofp_brick.send_event_to_observers(ofp_event.ofp_msg_to_ev(message), self.state)
        is_ports = frame.kind == Kind.MULTIPART_REPLY and message.type == Multipart.PORT_DESC
        if is_ports and not message.flags & REPLY_MORE and not self.is_described:
            self.set_state(handler.MAIN_DISPATCHER)


class GateReport(EventBase):  # type: ignore[misc]  # the base class is one of two untyped ones
    """An entry for the application's event log about a datapath id: a name from `event_log`, and details."""

    def __init__(self, name: str, datapath_id: int, details: dict[str, object]) -> None:
        super().__init__()
        self.name = name
        self.datapath_id = datapath_id
        self.details = {"datapath_id": f"{datapath_id:016x}", **details}


class PacketArrived(EventBase):  # type: ignore[misc]  # see `GateReport`
    """A switch has sent a packet that an entry of the application has sent to the controller."""

    def __init__(self, datapath: GatedDatapath, packet: PacketIn) -> None:
        super().__init__()
        self.datapath = datapath
        self.packet = packet


class Polled(EventBase):  # type: ignore[misc]  # see `GateReport`
    """The whole answer to a question of a poll, unparsed."""

    def __init__(self, datapath: GatedDatapath, answer: PollAnswer) -> None:
        super().__init__()
        self.datapath = datapath
        self.answer = answer


class EntriesRemoved(EventBase):  # type: ignore[misc]  # see `GateReport`
    """A switch has reported that it has removed entries with our cookie."""

    def __init__(self, datapath: GatedDatapath) -> None:
        super().__init__()
        self.datapath = datapath


@dataclass(frozen=True)
class Application:
    """The application to which switches are admitted.

    Attributes:
        is_known: returns True if it has a switch with this datapath id; any thread may call it.
        backlog: returns the number of events that wait for it.
        report: takes a name, a datapath id and details for its event log.
        binding: see `binding.may_use`.
        packets_of: cookies of the entries whose packets for the controller are passed on to it; others are dropped.
        send: takes an event for it.
        removals_of: cookie of the entries whose removal is reported to it; None for none.
    """

    is_known: Callable[[int], bool]
    backlog: Callable[[], int]
    report: Callable[[str, int, dict[str, object]], None]
    binding: Binding | None = field(default=None)
    packets_of: Collection[int] = ()
    send: Callable[[EventBase], None] = field(default=lambda _: None)
    removals_of: int | None = None


def application_of(
    app: Any,  # noqa: ANN401  # an application of either framework
    is_known: Callable[[int], bool],
    binding: Binding | None,
    *,
    packets_of: Collection[int] = (),
    removals_of: int | None = None,
) -> Application:
    """Return the gate's interface to a framework's application."""

    def report(name: str, datapath_id: int, details: dict[str, object]) -> None:
        send(GateReport(name, datapath_id, details))

    def send(event: EventBase) -> None:
        app.send_event(app.name, event)

    return Application(is_known, app.events.qsize, report, binding, packets_of, send, removals_of)
