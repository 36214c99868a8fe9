"""Base of applications that may be one of several controllers: connects `PairKeeper` with peers and signals."""

from __future__ import annotations

import signal
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kuijia_app.control.pair import Pair
from kuijia_app.control.pair_keeper import PairKeeper
from kuijia_app.control.switch_application import SwitchApplication
from kuijia_app.framework.addresses import peer_addresses
from kuijia_app.framework.handover_request import ANSWER_SECONDS, REQUEST, answer_to_request
from kuijia_app.framework.peer_links import Message, PeerLinks
from kuijia_app.framework.seam import cfg, unpatched
from kuijia_app.framework.switch_limits import repeated
from kuijia_app.framework.tls import TlsFiles

OPTIONS = [
    cfg.ListOpt("peers", default=[], help="addresses HOST:PORT of other controllers of the same switches"),
    cfg.StrOpt("peer_listen", help="address HOST:PORT at which they find this one"),
]

_MOST_WAITING = 64
"""Messages of peers that wait for the application; then their connections are not read."""


class PairApplication(PairKeeper, SwitchApplication):
    """An application with the options `OPTIONS`, and peers if there are any."""

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        self._peers: PeerLinks | None = None
        # Peers are heard on threads of the operating system, which under Ryu may not touch what belongs to green ones.
        self._heard: Any = unpatched("queue").Queue(_MOST_WAITING)

    def _join_peers(self, options: Any) -> None:  # noqa: ANN401  # the framework's
        """Be one of several controllers if the options say so; raises InputError if they cannot be used."""
        if options.peers:
            listen, others = peer_addresses(options.peer_listen or "", options.peers)
            self._peer_address = str(options.peer_listen)
            self._peers = PeerLinks(listen, others, _tls_files(), self._line_heard, self._peer_trouble)
            self._join(Pair(self._claims.instance, self._now()))

    def start(self) -> None:
        """Start, hear peers and the signal for a handover; either framework calls this in the main thread."""
        signal.signal(signal.SIGUSR2, lambda _number, _frame: self.ask_to_hand_over())
        super().start()
        if self._peers is not None:
            self._peers.start()

    @abstractmethod
    def _decoded(self, line: bytes) -> Callable[[], None]:
        """Return the action for a peer's message; on threads of connections. Raises ValueError if it is none."""

    def _send_line(self, message: Message) -> None:
        if self._peers is not None:
            self._peers.send(message)

    def _line_heard(self, line: bytes) -> bytes | None:
        """Take in a line; return the answer if it is a request. On threads of connections."""
        if line.strip() == REQUEST:
            answers: Any = unpatched("queue").Queue()
            self._heard.put(lambda: self.ask_to_hand_over(answers.put))
            try:
                return answer_to_request(answers.get(timeout=ANSWER_SECONDS))
            except unpatched("queue").Empty:
                return answer_to_request("this controller does not answer")
        self._heard.put(self._decoded(line))
        return None

    def _peer_trouble(self, host: str, error: str) -> None:
        """Take in that a connection has ended; on threads of connections."""
        self._heard.put(lambda: self._log_trouble(host, error))

    def _log_trouble(self, host: str, error: str) -> None:
        times = self._reports.occurred(("peer", host), self._now())
        if times is not None:
            self.logger.warning("connection of peer %s ended%s: %s", host, repeated(times), error)

    def _tend_pair(self, now: float) -> None:
        for _ in range(self._heard.qsize()):  # and no more: a peer may be faster than this thread
            self._heard.get()()
        super()._tend_pair(now)


def _tls_files() -> TlsFiles | None:
    conf = cfg.CONF
    if conf.ctl_privkey is None or conf.ctl_cert is None:
        return None
    return TlsFiles(Path(conf.ctl_privkey), Path(conf.ctl_cert), Path(conf.ca_certs))
