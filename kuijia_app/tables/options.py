"""Options of the switches' tables beyond the plan: as typed values, and from users' words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from kuijia_app.tables.queue_layouts import PLAIN, named_layout
from kuijia_app.tables.queues import PLAIN_LAYOUT, QueueLayout
from kuijia_app.tables.slots import DEFAULT_SLOT_COUNT
from kuijia_app.tables.stated_wiring import StatedWiring
from kuijia_app.tables.wiring import Neighbours, Wiring
from kuijia_app.tables.wiring_file import load_wiring
from kuijia_base.errors import InputError, quoted
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import switch_schemes
from te_solver.schemes.failure_scheme import FailureScheme
from te_solver.schemes.shipped.kuijia import KUIJIA

_Member = TypeVar("_Member", bound=Enum)


class Tagging(Enum):
    """Place of a packet's tunnel and queue tags: an MPLS label, the TOS byte of its IPv4 header, or a VLAN tag."""

    MPLS = "mpls"
    DSCP_ECN = "dscp-ecn"
    VLAN = "vlan"


class Form(Enum):
    """Distribution of entries over tables: the paper's sections 4.2 and 4.3."""

    SINGLE = "single"
    DECOMPOSED = "decomposed"


class Liveness(Enum):
    """Means by which an ingress detects that a tunnel is broken beyond its first link: the controller, or BFD."""

    CONTROLLER = "controller"
    BFD = "bfd"


class OtherTraffic(Enum):
    """Treatment of packets between sites without a planned pair: dropped, or sent best effort."""

    DROP = "drop"
    FORWARD = "forward"


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """Options beyond the plan: the scheme, the hash slots per pair and class, the queues of a port, and others.

    `wiring` is that of a file; None numbers switches and ports by the topology.
    """

    scheme: FailureScheme = KUIJIA
    slot_count: int = DEFAULT_SLOT_COUNT
    layout: QueueLayout = PLAIN_LAYOUT
    tagging: Tagging = Tagging.MPLS
    form: Form = Form.SINGLE
    liveness: Liveness = Liveness.CONTROLLER
    wiring: StatedWiring | None = None
    other_traffic: OtherTraffic = OtherTraffic.DROP
    neighbours: Neighbours = Neighbours.WIRING

    def wired(self, topology: Topology) -> Wiring:
        """Return the wiring of a topology; raises InputError if the file's is that of another one."""
        wiring = Wiring(topology) if self.wiring is None else self.wiring.of(topology)
        return replace(wiring, neighbours=self.neighbours)


@dataclass(frozen=True)
class OptionWords:
    """The options as users write them on command lines and in configuration files.

    `layout` is a name or a file, `wiring` a file or empty.
    """

    scheme: str = KUIJIA.name
    slots: int = DEFAULT_SLOT_COUNT
    layout: str = PLAIN
    tagging: str = Tagging.MPLS.value
    pipeline: str = Form.SINGLE.value
    liveness: str = Liveness.CONTROLLER.value
    wiring: str = ""
    other_traffic: str = OtherTraffic.DROP.value
    neighbours: str = Neighbours.WIRING.value


def pipeline_options(words: OptionWords) -> PipelineOptions:
    """Return the options that these words name.

    Raises:
        InputError: a word is not a value of its option, or a layout is neither a name nor a YAML file, or a
            wiring file is bad.
    """
    return PipelineOptions(
        _scheme(words.scheme),
        words.slots,
        named_layout(words.layout),
        member_option(Tagging, "tagging", words.tagging),
        member_option(Form, "pipeline", words.pipeline),
        member_option(Liveness, "liveness", words.liveness),
        load_wiring(Path(words.wiring)) if words.wiring else None,
        member_option(OtherTraffic, "other-traffic", words.other_traffic),
        member_option(Neighbours, "neighbours", words.neighbours),
    )


def _scheme(word: str) -> FailureScheme:
    known = {each.name: each for each in switch_schemes()}
    if word not in known:
        raise InputError("scheme", "", f"found {quoted(word)}", " or ".join(known))
    return known[word]


def member_option(kind: type[_Member], option: str, word: str) -> _Member:
    """Return the member of an option's values that a word names; raises InputError if it names none."""
    try:
        return kind(word)
    except ValueError as error:
        raise InputError(option, "", f"found {quoted(word)}", " or ".join(each.value for each in kind)) from error
