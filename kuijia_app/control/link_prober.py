"""Sends the probes of links over the connections of switches, and takes in those that arrive; no plan is needed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kuijia_app.control.link_probes import LinkProbes, ProbedLink, Token
from kuijia_app.control.liveness import Port
from kuijia_app.control.port_states import PortStates
from kuijia_app.control.probe_frames import KEY_BYTES, ProbeForm, ProbeSaid, probe_frame, probe_read
from kuijia_app.control.switch_connection import SwitchConnection
from kuijia_app.tables.wiring import Wiring


class LinkProber:
    """The probes of one controller.

    Attributes:
        probes: what they have shown.
    """

    def __init__(
        self,
        wiring: Wiring,
        form: ProbeForm,
        sizes: Mapping[Port, int],
        connections: Mapping[str, SwitchConnection],
        states: PortStates,
        clock: Callable[[], float],
    ) -> None:
        """Begin with nothing known.

        Args:
            wiring: numbers of switches and ports.
            form: header of the probes.
            sizes: bytes of full frames after the Ethernet header, for each port to another switch.
            connections: the present ones, by switch.
            states: what switches say of their ports.
            clock: returns seconds of any clock that nobody sets.
        """
        self._wiring = wiring
        self._form = form
        self._connections = connections
        self._states = states
        self._clock = clock
        self._key = secrets.token_bytes(KEY_BYTES)
        links = []
        for (switch, port), size in sizes.items():
            neighbour = wiring.neighbour_at(switch, port)
            if neighbour is not None:
                links.append(ProbedLink((switch, port), (neighbour, wiring.port(neighbour, switch)), size))
        self.probes = LinkProbes(links, clock())

    def may_probe(self, link: ProbedLink) -> bool:
        """Return True if both ends of a link are connected and say that they carry frames and send us packets."""
        source, target = self._states.state(*link.source), self._states.state(*link.target)
        return (
            source is not None
            and target is not None
            and not target.no_packet_in
            and self._states.is_usable(*link.source)
            and self._states.is_usable(*link.target)
            and link.source[0] in self._connections
            and link.target[0] in self._connections
        )

    def tend(self) -> None:
        """Send what is due; call this at regular intervals while this controller acts."""
        step = self.probes.step(self._clock(), self.may_probe)
        for switch in step.catch:
            matches = [self._form.match(port) for port in self._wiring.link_ports(switch)]
            self._connections[switch].catch_probes(matches, then=partial(self.probes.catches, switch))
        for switch, sendings in step.send.items():
            datapath_id = self._wiring.datapath_id(switch)
            said = [ProbeSaid(datapath_id, each.port, each.number, each.size) for each in sendings]
            frames = [(each.port, probe_frame(self._form, self._key, each)) for each in said]
            then = partial(self._sent, step.sent[switch])
            self._connections[switch].send_frames(frames, self._form.queue.queue_id, then=then)
        for switch, tokens in step.ask.items():
            self._connections[switch].send_frames((), self._form.queue.queue_id, then=partial(self._answered, tokens))

    def arrived(self, switch: str, port: int, frame: bytes) -> None:
        """Take in a frame that a switch has sent to the controller, whatever it is."""
        said = probe_read(self._key, frame)
        source = None if said is None else self._wiring.switch_of(said.datapath_id)
        if said is not None and source is not None:
            self.probes.arrived((source, said.port), (switch, port), said.number, said.size, self._clock())

    def _sent(self, tokens: Sequence[Token]) -> None:
        self.probes.sent(tokens, self._clock())

    def _answered(self, tokens: Sequence[Token]) -> None:
        self.probes.answered(tokens, self._clock())
