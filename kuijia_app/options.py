"""What a plan leaves open about the switches' tables: as typed values, and from the words that users write."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from kuijia_app.queue_layouts import PLAIN, named_layout
from kuijia_app.queues import PLAIN_LAYOUT, QueueLayout
from kuijia_app.slots import DEFAULT_SLOT_COUNT
from te_solver.errors import InputError, quoted
from te_solver.failure_schemes.failure_scheme import FailureScheme
from te_solver.failure_schemes.kuijia import KUIJIA
from te_solver.failure_schemes.registry import switch_schemes

_Member = TypeVar("_Member", bound=Enum)


class Tagging(Enum):
    """Where a packet carries its tunnel and its queue: in an MPLS label, or in the TOS byte of its IPv4 header."""

    MPLS = "mpls"
    DSCP_ECN = "dscp-ecn"


class Form(Enum):
    """How entries are spread over tables: the paper's sections 4.2 and 4.3."""

    SINGLE = "single"
    DECOMPOSED = "decomposed"


class Liveness(Enum):
    """How an ingress learns that a tunnel is broken beyond its first link: from the controller, or by BFD."""

    CONTROLLER = "controller"
    BFD = "bfd"


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """What a plan leaves open: the scheme, the hash slots per pair and class, the queues of a port, and the rest."""

    scheme: FailureScheme = KUIJIA
    slot_count: int = DEFAULT_SLOT_COUNT
    layout: QueueLayout = PLAIN_LAYOUT
    tagging: Tagging = Tagging.MPLS
    form: Form = Form.SINGLE
    liveness: Liveness = Liveness.CONTROLLER


@dataclass(frozen=True)
class OptionWords:
    """The same as users write it on command lines and in configuration files; `layout` is a name or a YAML file."""

    scheme: str = KUIJIA.name
    slots: int = DEFAULT_SLOT_COUNT
    layout: str = PLAIN
    tagging: str = Tagging.MPLS.value
    pipeline: str = Form.SINGLE.value
    liveness: str = Liveness.CONTROLLER.value


def pipeline_options(words: OptionWords) -> PipelineOptions:
    """The options that words stand for.

    Raises:
        InputError: a word that is none of its option's, a layout that is neither a name nor a file of one.
    """
    return PipelineOptions(
        _scheme(words.scheme),
        words.slots,
        named_layout(words.layout),
        _member(Tagging, "tagging", words.tagging),
        _member(Form, "pipeline", words.pipeline),
        _member(Liveness, "liveness", words.liveness),
    )


def _scheme(word: str) -> FailureScheme:
    known = {each.name: each for each in switch_schemes()}
    if word not in known:
        raise InputError("scheme", "", f"found {quoted(word)}", " or ".join(known))
    return known[word]


def _member(kind: type[_Member], option: str, word: str) -> _Member:
    try:
        return kind(word)
    except ValueError as error:
        raise InputError(option, "", f"found {quoted(word)}", " or ".join(each.value for each in kind)) from error
