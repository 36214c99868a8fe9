"""Ports that are up but not to be used yet, as their switch lacks its tables or has just come back; pure."""

from __future__ import annotations

from collections.abc import Mapping

from kuijia_app.control.liveness import Port


class UsablePorts:
    """The ports of switches, as these describe them, and which of those that are up count as down.

    All ports of a switch that lacks its tables do, and until a switch that comes back has its tables, those that have
    come up since it was connected before: what uses other tunnels meanwhile goes on with these.
    """

    def __init__(self) -> None:
        self._live: dict[str, dict[int, bool]] = {}
        self._avoided: set[str] = set()
        self._came_up: dict[str, set[int]] = {}  # of switches that do not have their tables yet

    @property
    def doubted(self) -> frozenset[Port]:
        """The ports that are up but count as down."""
        avoided = ((switch, self._live.get(switch, {})) for switch in self._avoided)
        live = ((switch, port) for switch, ports in avoided for port, live in ports.items() if live)
        return frozenset(live).union((switch, port) for switch, ports in self._came_up.items() for port in ports)

    def told(self, switch: str, ports: Mapping[int, bool]) -> Mapping[int, bool]:
        """Take in all ports of a switch that another controller programs; return those that count as up or down."""
        self._avoided.discard(switch)
        self._came_up.pop(switch, None)
        return self._described(switch, ports)

    def began(self, switch: str) -> None:
        """Take in that a switch is about to be read."""
        self._came_up.setdefault(switch, set())

    def read(self, switch: str, ports: Mapping[int, bool], *, lacks_tables: bool) -> Mapping[int, bool]:
        """Take in all ports of a switch that has been read; return the same."""
        (self._avoided.add if lacks_tables else self._avoided.discard)(switch)
        before, held = self._live.get(switch, {}), self._came_up.get(switch, set())
        self._came_up[switch] = {
            port for port, live in ports.items() if live and (port in held or not before.get(port, True))
        }
        return self._described(switch, ports)

    def changed(self, live_by_port: Mapping[Port, bool]) -> Mapping[Port, bool]:
        """Take in the states of some ports; return those that count as up or down."""
        for (switch, port), live in live_by_port.items():
            known, held = self._live.setdefault(switch, {}), self._came_up.get(switch)
            if held is not None and known.get(port, True) != live:
                (held.add if live else held.discard)(port)
            known[port] = live
        return {
            (switch, port): live and port not in self._came_up.get(switch, ())
            for (switch, port), live in live_by_port.items()
            if switch not in self._avoided
        }

    def released(self, switch: str) -> Mapping[int, bool] | None:
        """Use all ports of a switch from now on that are up; return them, None if nothing changes by that."""
        was_avoided = switch in self._avoided
        self._avoided.discard(switch)
        if not self._came_up.pop(switch, None) and not was_avoided:
            return None
        return self._live[switch]

    def _described(self, switch: str, ports: Mapping[int, bool]) -> Mapping[int, bool]:
        self._live[switch] = dict(ports)
        came_up = self._came_up.get(switch, ())
        return {} if switch in self._avoided else {port: live and port not in came_up for port, live in ports.items()}
