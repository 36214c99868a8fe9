"""The part of our code that runs on a box: packed here, and run from memory by the box's own Python."""

from __future__ import annotations

import io
import zipfile
from functools import cache

from kuijia_base.commands import MODULES

NEEDED_PYTHON = (3, 10)

AGENT = "testbed.boxes.agent"

MODULES_ON_BOX = (
    "kuijia/__init__.py",
    "kuijia/rooms.py",
    "kuijia_app/__init__.py",
    "kuijia_app/preparation/__init__.py",
    "kuijia_app/preparation/completion.py",
    "kuijia_base/__init__.py",
    "kuijia_base/errors.py",
    "testbed/__init__.py",
    "testbed/boxes/__init__.py",
    "testbed/boxes/agent.py",
    "testbed/boxes/box_actions.py",
    "testbed/boxes/box_switch.py",
    "testbed/boxes/changes.py",
    "testbed/boxes/controller_place.py",
    "testbed/boxes/record.py",
    "testbed/boxes/survey.py",
    "testbed/links/__init__.py",
    "testbed/links/flow_keys.py",
    "testbed/links/label_observer.py",
    "testbed/links/link_probes.py",
    "testbed/links/link_state.py",
    "testbed/links/load_counters.py",
    "testbed/links/port_status.py",
    "testbed/links/probe_frames.py",
    "kuijia_app/preparation/send_buffer.py",
    "testbed/machine/__init__.py",
    "kuijia_base/bounded_output.py",
    "kuijia_base/commands.py",
    "testbed/machine/network_namespace.py",
    "testbed/machine/processes.py",
    "testbed/machine/programs.py",
    "testbed/machine/trusted_folders.py",
)
"""Modules that import only each other and the standard library; a test runs them that way."""

BOOTSTRAP = f"""
import sys
if sys.version_info < {NEEDED_PYTHON}:
    sys.exit("Python %d.%d is too old" % sys.version_info[:2])
import os
source = open(0, "rb", buffering=0)
left = int(source.readline() or 0)
held = os.memfd_create("kuijia")
while left:
    part = source.read(left)
    if not part:
        sys.exit("the connection was lost")
    left -= os.write(held, part)
sys.path.insert(0, "/proc/self/fd/%d" % held)
from {AGENT} import serve
serve(source)
""".strip()
"""Reads a length, that many bytes of the bundle, and then orders, all from standard input; leaves no file behind."""


@cache
def bundle() -> bytes:
    """Return the modules as a ZIP file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in MODULES_ON_BOX:
            archive.write(MODULES / name, name)
    return packed.getvalue()
