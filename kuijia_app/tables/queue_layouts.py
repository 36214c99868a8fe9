"""Queue layouts by name: those of the paper, and a user's own from a file."""

from __future__ import annotations

from pathlib import Path

from kuijia_app.tables.queue_layout_file import load_layout
from kuijia_app.tables.queues import PLAIN_LAYOUT, Queue, QueueLayout, TrafficClass
from kuijia_base.errors import InputError, quoted

PLAIN = "plain"

EXPEDITED, AF41, AF31, AF21 = 46, 34, 26, 18
"""Code points of RFC 3246 and RFC 2597."""


def _eight() -> QueueLayout:
    control = Queue(0, "control", traffic_class=6)
    high = [Queue(number, f"high {number}", traffic_class=number) for number in range(1, 5)]
    high_victims = Queue(5, "high victims", traffic_class=5)
    low = Queue(6, "low", traffic_class=0)
    low_victims = Queue(7, "low victims", traffic_class=7)
    marks = (EXPEDITED, AF41, AF31, AF21)
    classes = [
        TrafficClass(priority, (mark,), queue, high_victims)
        for priority, (mark, queue) in enumerate(zip(marks, high, strict=True))
    ]
    lowest = TrafficClass(len(classes), (), low, low_victims)
    return QueueLayout("eight", (control, *high, high_victims, low, low_victims), control, (*classes, lowest))


def _four() -> QueueLayout:
    high = Queue(0, "high", traffic_class=6, ecn=2)
    high_victims = Queue(1, "high victims", traffic_class=5, ecn=3)
    low = Queue(2, "low", traffic_class=0, ecn=0)
    low_victims = Queue(3, "low victims", traffic_class=1, ecn=1)
    classes = (TrafficClass(0, (EXPEDITED,), high, high_victims), TrafficClass(1, (), low, low_victims))
    return QueueLayout("four", (high, high_victims, low, low_victims), high, classes)


LAYOUTS = {PLAIN: PLAIN_LAYOUT, "eight": _eight(), "four": _four()}
"""Layouts by name: three queues for one class of traffic, and those of the paper's sections 4.3 and 5.4 for several.

In all of them unmarked packets belong to the last class.
"""


def named_layout(name: str) -> QueueLayout:
    """Return the layout of this name, or from the YAML file of this name; raises InputError if it is neither."""
    if name in LAYOUTS:
        return LAYOUTS[name]
    path = layout_file(name)
    if path is None:
        raise InputError("layout", "", f"{quoted(name)} is unknown", f"{', '.join(LAYOUTS)} or a YAML file")
    return load_layout(path, LAYOUTS)


def layout_file(name: str) -> Path | None:
    """Return the file of this name; None if there is none, and for the name of a layout."""
    path = Path(name)
    try:
        return path if name not in LAYOUTS and path.exists() else None
    except OSError:  # no file can have such a name
        return None
