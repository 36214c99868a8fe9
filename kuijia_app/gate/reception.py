"""Handles the messages of connections, admits them within the limits, and closes those that break the rules."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from kuijia_app.framework import event_log
from kuijia_app.framework.switch_limits import BackOff
from kuijia_app.gate.admission import Admission, AdmissionVerdict
from kuijia_app.gate.application import Application, EntriesRemoved, GatedDatapath, PacketArrived, Polled
from kuijia_app.gate.binding import may_use
from kuijia_app.gate.frames import VERSION, Frame, Kind, RefusedError
from kuijia_app.gate.limits import LIMITS, Limits
from kuijia_app.gate.peer import Peer
from kuijia_app.gate.wire import ConnectionEndedError
from kuijia_base.log_lines import part_logger

_LEAVING: Final = 1.0
"""Seconds for which a refused connection can read the reason."""

_SHOWN_CHARACTERS: Final = 80

MOST_HOSTS_NAMED: Final = 16
"""Addresses whose refused connections are logged by themselves; those of all others together."""

_SILENT: Final = "it shows no sign of life while another connection claims its datapath id"
_NO_ANSWER: Final = "it does not answer echo requests"
_DUPLICATE: Final = "its datapath id is in use"
_TOO_OFTEN: Final = "its switch connects too often"


class HeldConnections:
    """Holds all connections. All methods are for the loop's thread.

    `echo_interval` is in seconds, 0 sends no echo requests; more than `unanswered` of them without an answer end a
    connection.
    """

    def __init__(
        self, application: Application, now: float, echo_interval: float, unanswered: int, limits: Limits = LIMITS
    ) -> None:
        self._application = application
        self._echo_interval = echo_interval
        self._unanswered = unanswered
        self._limits = limits
        self._admission: Admission[Peer] = Admission(application.is_known, now, limits)
        self._logger = part_logger("gate")
        self._lines = BackOff()
        self._named_hosts: set[str] = set()
        self._events = BackOff()
        self._peers: dict[int, Peer] = {}
        self._named: dict[Peer, None] = {}

    @property
    def peers(self) -> Collection[Peer]:
        """All connections."""
        return self._peers.values()

    @property
    def named(self) -> Collection[Peer]:
        """Connections whose switch has named its datapath id and been let in."""
        return self._named.keys()

    def peer_at(self, fd: int) -> Peer | None:
        """Return the connection with this descriptor."""
        return self._peers.get(fd)

    def is_here(self, peer: Peer) -> bool:
        """Return True until a connection is closed."""
        return self._peers.get(peer.wire.fd) is peer

    def is_congested(self) -> bool:
        """Return True while more events wait for the application than the limit."""
        return self._application.backlog() >= self._limits.backlog

    def admits(self, host: str, now: float) -> bool:
        """Return True if a new connection from an address is taken in, False if too many come."""
        return self._admission.admits(host, now)

    def is_preferred(self, peer: Peer) -> bool:
        """See `Admission.is_preferred`."""
        return self._admission.is_preferred(peer)

    def arrived(self, peer: Peer, now: float) -> None:
        """Add a new connection."""
        self._peers[peer.wire.fd] = peer
        limit = self._limits.handshake if peer.wire.is_open else self._limits.tls_handshake
        self._make_place(self._admission.arrived(peer, peer.host, now + limit), now)
        self._greet(peer)

    def received(self, peer: Peer, data: bytes, now: float) -> None:
        """Read the bytes that a connection has sent."""
        peer.fed(data, now)
        if not peer.is_greeted and peer.wire.is_open:
            self._admission.prolonged(peer, now + self._limits.handshake)
            if peer.wire.fingerprint is not None:
                self._make_place(self._admission.certified(peer), now)
            self._greet(peer)
        if data and peer.rival is not None and self.is_here(peer.rival):
            self._refuse_duplicate(peer.rival, now)

    def serve(self, peer: Peer, now: float) -> None:
        """Give a connection its turn: handle a limited number of its messages.

        Any fault affects only this connection, which is dropped.
        """
        until = time.monotonic() + self._limits.turn_frame_time
        with self._concerning(peer, now):
            for _ in range(self._limits.turn_frames):
                if not self.is_here(peer) or peer.is_leaving or not self._may_speak(peer, now):
                    return
                frame = peer.take(now)
                if frame is None:
                    return
                self._take(peer, frame, now)
                if time.monotonic() >= until:
                    return

    def drop(self, peer: Peer, why: RefusedError | ConnectionEndedError, now: float) -> None:
        """Close a connection; log a refused one, and report it if it was a known switch."""
        if not self.is_here(peer):
            return
        if isinstance(why, RefusedError) and not peer.is_leaving:
            self._note(peer, why, now)
            if peer.greeting is not None and peer.greeting.reply and peer.wire.is_open:
                self._show_out(peer, now)
                return
        if isinstance(why, ConnectionEndedError) and peer.claim is not None:
            self._count_duplicate(peer, now)
        del self._peers[peer.wire.fd]
        self._named.pop(peer, None)
        self._admission.left(peer)
        peer.wire.close()
        if peer.datapath is not None:
            peer.datapath.ended()
        rival, peer.rival = peer.rival, None
        if rival is not None and self.is_here(rival):
            with self._concerning(rival, now):
                self._admit(rival, now)

    def tend(self, now: float) -> None:
        """Check the time: send echo requests, and drop connections whose deadline has passed."""
        for peer in self._admission.overdue(now):
            if peer.is_leaving:
                self.drop(peer, ConnectionEndedError(), now)
            elif peer.claim is not None:
                self._refuse_duplicate(peer, now)
            else:
                what = "its features did not come" if peer.wire.is_open else "its TLS handshake did not end"
                self.drop(peer, RefusedError(f"{what} in time"), now)
        is_congested = self.is_congested()
        for peer in list(self._named):
            if self.is_here(peer):
                self._tend(peer, now, is_congested=is_congested)

    def make_room(self, count: int, now: float) -> None:
        """Drop the oldest half-open connections, as descriptors have run out."""
        for peer in self._admission.oldest(count):
            self.drop(peer, RefusedError("too few descriptors"), now)

    def _make_place(self, dropped: Peer | None, now: float) -> None:
        if dropped is not None:
            self.drop(dropped, RefusedError("too many half-open connections"), now)

    @contextmanager
    def _concerning(self, peer: Peer, now: float) -> Iterator[None]:
        """Drop a connection if handling its messages raises an exception."""
        try:
            yield
        except RefusedError as error:
            self.drop(peer, error, now)
        except Exception as error:  # noqa: BLE001  # the framework's parser raises anything
            shown = repr(str(error)[:_SHOWN_CHARACTERS])
            self.drop(peer, RefusedError(f"{type(error).__name__} in the framework", shown), now)

    def _greet(self, peer: Peer) -> None:
        if peer.wire.is_open and peer.greeting is not None and peer.greeting.reply:
            peer.is_greeted = True
            peer.wire.send(bytes(peer.greeting.reply))
            peer.greeting.reply.clear()

    def _may_speak(self, peer: Peer, now: float) -> bool:
        if peer.claim is not None or (peer.datapath is not None and self.is_congested()):
            return False
        if not peer.may_speak(now):
            self._pause(peer, paused=True)
            return False
        return True

    @staticmethod
    def _pause(peer: Peer, *, paused: bool) -> None:
        if peer.is_paused != paused:
            peer.is_paused = paused
            peer.wire.watch(reads=not paused)

    def _take(self, peer: Peer, frame: Frame, now: float) -> None:
        if peer.datapath is not None:
            if frame.version == VERSION and self._take_unparsed(peer, peer.datapath, frame, now):
                return
            passed = peer.passed(frame)
            if passed is not None:
                peer.datapath.pass_on(passed)
            return
        assert peer.greeting is not None
        peer.greeting.take(frame)
        self._greet(peer)
        if peer.greeting.datapath_id is not None:
            peer.claim = frame
            self._require_bound(peer, peer.greeting.datapath_id, now)
            self._admit(peer, now)

    def _take_unparsed(self, peer: Peer, datapath: GatedDatapath, frame: Frame, now: float) -> bool:
        """Report what the application reads without a parser; return True for such a message."""
        send = self._application.send
        if frame.kind == Kind.PACKET_IN:
            packet = peer.packet(frame, self._application.packets_of, now)
            if packet is not None:
                send(PacketArrived(datapath, packet))
            else:
                peer.drop_alike(frame, now)
            return True
        if frame.kind == Kind.MULTIPART_REPLY and peer.answers.is_of_poll(frame):
            answer = peer.answers.polled(frame)
            if answer is not None:
                send(Polled(datapath, answer))
            return True
        if frame.kind == Kind.FLOW_REMOVED:
            if peer.reports_removal(frame, self._application.removals_of, now):
                send(EntriesRemoved(datapath))
            return True
        return False

    def _require_bound(self, peer: Peer, datapath_id: int, now: float) -> None:
        fingerprint = peer.wire.fingerprint
        if not may_use(datapath_id, fingerprint, peer.wire.uris, self._application.binding):
            shown = fingerprint or "none"
            self._report(event_log.SWITCH_UNBOUND, peer, datapath_id, now, certificate=shown)
            raise RefusedError("its certificate is not bound to its datapath id", f"SHA-256 {shown}")

    def _admit(self, peer: Peer, now: float) -> None:
        assert peer.claim is not None
        datapath_id = peer.datapath_id
        assert datapath_id is not None
        verdict = self._admission.named(peer, datapath_id, now)
        if verdict is AdmissionVerdict.DUPLICATE:
            self._dispute(peer, datapath_id, now)
        elif verdict is AdmissionVerdict.TOO_MANY_UNKNOWN:
            self.drop(peer, RefusedError("too many switches that the application does not know"), now)
        elif verdict is AdmissionVerdict.TOO_OFTEN:
            self.drop(peer, RefusedError(_TOO_OFTEN), now)
        else:
            self._let_in(peer, peer.claim, datapath_id, now, is_unknown=verdict is AdmissionVerdict.UNKNOWN)

    def _let_in(self, peer: Peer, features: Frame, datapath_id: int, now: float, *, is_unknown: bool) -> None:
        self._pause(peer, paused=False)
        datapath = GatedDatapath(peer.wire, peer.answers, peer.address, datapath_id)
        peer.named(datapath, now, is_unknown=is_unknown)
        self._named[peer] = None
        datapath.pass_on(features)
        if not is_unknown:
            datapath.ask_for_ports()

    def _dispute(self, peer: Peer, datapath_id: int, now: float) -> None:
        """Handle two connections with one datapath id: the first keeps it if it shows a sign of life."""
        holder = self._admission.holder(datapath_id)
        assert holder is not None
        if holder.rival is not None and self.is_here(holder.rival):
            self._refuse_duplicate(peer, now)
            return
        holder.rival = peer
        self._admission.prolonged(peer, now + 2 * self._limits.silence)
        self._pause(peer, paused=True)
        if holder.silent_for(now) > self._limits.silence:
            self.drop(holder, RefusedError(_SILENT), now)
        elif not holder.unanswered:  # otherwise many claims would make it owe too many answers
            holder.probe(now)

    def _refuse_duplicate(self, rival: Peer, now: float) -> None:
        self._count_duplicate(rival, now)
        self.drop(rival, RefusedError(_DUPLICATE), now)

    def _count_duplicate(self, rival: Peer, now: float) -> None:
        assert rival.datapath_id is not None
        holder = self._admission.holder(rival.datapath_id)
        assert holder is not None
        if holder.rival is rival:
            holder.rival = None
        holder.rivals_refused += 1
        self._report(event_log.SWITCH_DUPLICATE, rival, rival.datapath_id, now, refused=holder.rivals_refused)

    def _tend(self, peer: Peer, now: float, *, is_congested: bool) -> None:
        if peer.wire.failure is not None:
            self.drop(peer, peer.wire.failure, now)
        elif peer.wire.is_stalled(now):
            self.drop(peer, RefusedError("it does not read what it is sent"), now)
        elif peer.is_paused or is_congested:
            peer.heard_at = now  # it may have sent something that was not read
            if peer.is_paused and peer.may_speak(now):
                self._pause(peer, paused=False)
        elif peer.is_late(now):
            self.drop(peer, RefusedError("it does not describe its ports"), now)
        elif peer.rival is not None and peer.silent_for(now) > self._limits.silence:
            self.drop(peer, RefusedError(_SILENT), now)
        elif self._unanswered and peer.unanswered > self._unanswered:
            self.drop(peer, RefusedError(_NO_ANSWER), now)
        elif self._unanswered:
            peer.tend(now, self._echo_interval)

    def _show_out(self, peer: Peer, now: float) -> None:
        """Send a refused connection the reason, and close it soon."""
        self._greet(peer)
        peer.wire.finish()
        peer.is_leaving = True
        peer.claim = None
        self._pause(peer, paused=False)
        self._admission.prolonged(peer, now + _LEAVING)

    def _note(self, peer: Peer, why: RefusedError, now: float) -> None:
        if peer.is_known and peer.datapath_id is not None:
            self._report(event_log.SWITCH_DROPPED, peer, peer.datapath_id, now, reason=why.reason)
        named = "" if peer.datapath_id is None else f", datapath id {peer.datapath_id:016x}"
        about = peer.datapath_id if peer.is_known else self._named_host(peer.host)
        times = self._lines.occurred((why.reason, about), now)
        if times is not None:
            more = f" ({times - 1} more like it before)" if times > 1 else ""
            self._logger.warning("connection of %s%s ended: %s%s", peer.host, named, str(why), more)

    def _named_host(self, host: str) -> str | None:
        """Return an address whose refusals are logged by themselves, None if those of too many others are."""
        if len(self._named_hosts) < MOST_HOSTS_NAMED:
            self._named_hosts.add(host)
        return host if host in self._named_hosts else None

    def _report(self, event: str, peer: Peer, datapath_id: int, now: float, **details: object) -> None:
        """Report an event; events of one kind about one switch, or about unknown ones, come ever less often."""
        is_known = self._application.is_known(datapath_id)
        times = self._events.occurred((event, datapath_id if is_known else None, details.get("reason")), now)
        if times is not None:
            self._application.report(event, datapath_id, {"address": peer.host, **details, "times": times})
