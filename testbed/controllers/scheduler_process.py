"""The scheduler of a data centre's elephants as a process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from testbed.controllers.application_process import HERE, ApplicationProcess, Framework, Listening
from testbed.controllers.peers import Peers


class SchedulerProcess(ApplicationProcess):
    """`hedera.scheduler`, with options by their names in its configuration section; None leaves the default.

    Links are neither probed nor compared by their counters unless the options say so.

    Attributes:
        peers: other schedulers of the same switches, if there are any, set before `start`.
    """

    def __init__(
        self,
        directory: Path,
        options: Mapping[str, object],
        framework: Framework = "os-ken",
        listening: Listening = HERE,
    ) -> None:
        super().__init__(directory, framework, listening)
        checked = {"missing": "ignore", "gray_loss": "off", **options}
        self._options = {name: value for name, value in checked.items() if value is not None}
        self.peers: Peers | None = None

    def _command(self) -> list[str]:
        if self.framework == "ryu":
            peers = {} if self.peers is None else self.peers.options
            return self._manager("hedera.scheduler", "hedera", self._options | peers)
        options = dict(self._options)
        topology = options.pop("topology", None)
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        words += [] if self.peers is None else self.peers.words
        return self._verb("scheduler", *([] if topology is None else [str(topology)]), *words)
