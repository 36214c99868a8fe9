"""Simulated connections between switches and controllers: they delay messages, lose their ends, and are cut."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from tests.rehearsal.messages import Message
from tests.rehearsal.switch import ViolationError
from tests.rehearsal.timeline import SimulatedTime


class Pipe:
    """One direction of a connection: delivers in order, later while it is cut or the receiver is frozen.

    Attributes:
        delay: greatest seconds of a message on its way.
    """

    def __init__(self, time: SimulatedTime, deliver: Callable[[Any], None], is_open: Callable[[], bool]) -> None:
        self.delay = 0.002
        self._time = time
        self._deliver = deliver
        self._is_open = is_open
        self._waiting: deque[tuple[float, Any]] = deque()
        self._last = 0.0
        self._is_pumping = False

    def send(self, item: Any) -> None:  # noqa: ANN401  # messages of either direction
        self._last = max(self._last, self._time.now + self._time.random.uniform(0.0001, self.delay))
        self._waiting.append((self._last, item))
        self._time.after(self._last - self._time.now, self.pump)

    def pump(self) -> None:
        """Deliver what has arrived."""
        if self._is_pumping:
            return
        self._is_pumping = True
        while self._waiting and self._waiting[0][0] <= self._time.now and self._is_open():
            self._deliver(self._waiting.popleft()[1])
        self._is_pumping = False

    def lose(self, keeps: int) -> None:
        """Lose all but the first messages on their way."""
        while len(self._waiting) > keeps:
            self._waiting.pop()


class SimulatedConnection:
    """A connection of a switch with a controller; the controller's own code takes it for the framework's.

    Attributes:
        id: datapath id.
        owner: name of the controller's process.
        is_described: the switch has described its ports; the gate drops reports of ports before that.
        is_up_at_switch, is_up_at_controller: that end knows of no end.
    """

    address = ("switch", 1)

    def __init__(self, switch: str, datapath_id: int, owner: str) -> None:
        self.switch = switch
        self.id = datapath_id
        self.owner = owner
        self.is_described = False
        self.is_up_at_switch = True
        self.is_up_at_controller = True
        self.is_admitted = False
        self.held: list[Any] = []
        self.up: Pipe
        self.down: Pipe

    def send_msg(self, message: Message) -> None:
        """Send a message of the controller."""
        if not self.is_up_at_controller:
            raise ViolationError(f"{message} is sent on a connection of {self.switch} that has ended")
        self.down.send(message)
