"""A study packet by packet as one self-contained HTML page: figures, tables, their meaning and their provenance."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from kuijia_base.manifest import python_versions
from kuijia_base.picture_file import picture_bytes
from kuijia_base.quantities import counted
from kuijia_base.text_table import TextTable
from simulator.studies.whatif_packets.figures import figures
from simulator.studies.whatif_packets.findings import percent
from simulator.studies.whatif_packets.run import ROLES
from simulator.studies.whatif_packets.study import PacketStudy

LISTED = 25
"""Failures that the page lists for each scheme; a file lists all."""

_CAPTIONS = {
    "missing-ranked": "Each failure by the payload that does not arrive because of it, and whose it is.",
    "completion-times": "Means over all failures. Flows whose tunnels have all failed have no completion time.",
}


def html_report(study: PacketStudy, command: str) -> str:
    """Return the page; `command` reproduces the study."""
    environment = Environment(
        loader=PackageLoader("simulator.studies.whatif_packets", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "counted": counted}
    first, *conditions = study.heading()
    return environment.get_template("report.html.j2").render(
        study=study,
        first=first,
        conditions=conditions,
        tables=[
            (
                "Losses",
                "Shares of data packets and of payload, over all failures alike.",
                *_table(study.found.losses()),
            ),
            ("Completion times", "In times of those without the failure.", *_table(study.found.times())),
        ],
        pictures=[(name, _CAPTIONS[name], _data_uri(figure)) for name, figure in figures(study.found).items()],
        listed=LISTED,
        roles=ROLES,
        command=command,
        versions=python_versions(),
    )


def _table(table: TextTable) -> tuple[list[tuple[str, int]], Sequence[str], Sequence[Sequence[str]]]:
    """Return the groups of columns with their widths, the headings, and rows that are all as long as these."""
    groups, head, *rows = table.rows
    names = [*groups, *([""] * (len(head) - len(groups)))]
    places = [place if name else None for place, name in enumerate(names)]
    for place in range(1, len(names)):
        places[place] = places[place - 1] if places[place] is None else places[place]
    spans = [(place, len(list(same))) for place, same in groupby(places)]
    return (
        [("" if place is None else names[place].rstrip(":"), width) for place, width in spans],
        head,
        [[*row, *([""] * (len(head) - len(row)))] for row in rows],
    )


def _data_uri(figure: Figure) -> str:
    return f"data:image/svg+xml;base64,{b64encode(picture_bytes(figure, '.svg')).decode()}"
