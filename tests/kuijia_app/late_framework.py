"""`kuijia` with os-ken's own question for a switch's ports held back until ours have been asked.

Its threads leave the order to chance, and the answer to the first of them ends the first phase of a connection.
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from importlib import import_module
from typing import Any
from unittest.mock import patch

from kuijia.cli.main import main

_PATIENCE = 60.0


def hold_back() -> int:
    parser: Any = import_module("os_ken.ofproto.ofproto_v1_3_parser")
    import_module("os_ken.base.app_manager")  # the next module needs it to have been imported
    datapath: Any = import_module("os_ken.controller.controller").Datapath
    send = datapath.send_msg
    asked: defaultdict[object, threading.Event] = defaultdict(threading.Event)

    def send_in_order(connection: object, message: object, **options: object) -> object:
        if isinstance(message, parser.OFPPortDescStatsRequest) and message.xid is None:  # not one of ours
            asked[connection].wait(_PATIENCE)
        sent = send(connection, message, **options)
        if isinstance(message, parser.OFPBarrierRequest):
            asked[connection].set()
        return sent

    with patch.object(datapath, "send_msg", send_in_order):
        return main()


if __name__ == "__main__":
    sys.exit(hold_back())
