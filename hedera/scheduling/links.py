"""Failed cables between switches, from the reports of the switches at their ends; pure."""

from __future__ import annotations

from collections.abc import Mapping

from hedera.scheduling.tables import Cable
from kuijia_app.tables.wiring import Wiring


class Links:
    """State of all cables; one has failed if a port at an end is down or missing, or a switch there is gone.

    One that loses packets counts as failed, too, unless a switch has no other.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._live: dict[str, dict[int, bool]] = {}
        self._gone: set[str] = set()
        self._told: frozenset[Cable] = frozenset()
        self._lossy: frozenset[Cable] = frozenset()
        self._is_stale = False

    def ports_described(self, switch: str, live: Mapping[int, bool]) -> None:
        """Record that the switch is connected, with these ports, live or not."""
        self._gone.discard(switch)
        self._live[switch] = dict(live)
        self._is_stale = True

    def port_changed(self, switch: str, port: int, *, live: bool) -> None:
        """Record a change of a port; without effect until the switch has described all its ports."""
        if switch in self._live:
            self._live[switch][port] = live
            self._is_stale = True

    def left(self, switch: str) -> None:
        """Record that the switch is no longer connected."""
        self._gone.add(switch)
        self._live.pop(switch, None)
        self._is_stale = True

    def expect_all(self) -> None:
        """Treat switches that never connected as gone."""
        missing = {switch for switch in self._wiring.topology.nodes if switch not in self._live}
        if not missing <= self._gone:
            self._gone |= missing
            self._is_stale = True

    def avoid(self, lossy: frozenset[Cable]) -> None:
        """Record the cables that lose packets although their ports are up, in place of those before."""
        if lossy != self._lossy:
            self._lossy = lossy
            self._is_stale = True

    def take_changed(self) -> frozenset[Cable] | None:
        """Return all failed cables if they have changed since the last call, else None."""
        if not self._is_stale:
            return None
        self._is_stale = False
        failed = frozenset(frozenset(ends) for ends in self._wiring.topology.edges if not self._is_up(*ends))
        failed |= self._avoidable(failed)
        if failed == self._told:
            return None
        self._told = failed
        return failed

    def _avoidable(self, failed: frozenset[Cable]) -> frozenset[Cable]:
        """Return the lossy cables without those that are the last of a switch: nothing is lost by using them."""
        neighbours = self._wiring.topology.neighbours
        left = {switch: {frozenset((switch, other)) for other in others} for switch, others in neighbours.items()}
        return frozenset(
            cable for cable in self._lossy - failed if all(left[end] - failed - self._lossy for end in cable)
        )

    def _is_up(self, a: str, b: str) -> bool:
        return self._end_is_up(a, b) and self._end_is_up(b, a)

    def _end_is_up(self, switch: str, other: str) -> bool:
        if switch in self._gone:
            return False
        ports = self._live.get(switch)
        return ports is None or ports.get(self._wiring.port(switch, other), False)
