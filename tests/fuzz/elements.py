"""XML by its elements: one is changed, moved, repeated or lost, and the rest stays well-formed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from xml.etree import ElementTree as ET  # only our own examples are parsed
from xml.sax.saxutils import escape

from tests.fuzz import hostile


@dataclass
class Element:
    """An element; an attribute may stand in it several times."""

    tag: str
    attributes: list[tuple[str, str]]
    text: str
    children: list[Element] = field(default_factory=list)


def elements_of(document: str) -> Element:
    """Return the elements of a document; its namespace stays an attribute."""
    head = document.replace(" xmlns=", " kept-xmlns=")
    return _element(ET.fromstring(head.partition("?>")[2] or head))  # noqa: S314  # one of our own examples


def mutated(random: Random, root: Element) -> bytes:
    """Return a document with one to four elements changed."""
    copy = _copy(root)
    for _ in range(random.choice((1, 1, 2, 4))):
        parents = [element for element in _all(copy) if element.children]
        if 0 < len(parents) <= _MOST_PARENTS:
            parent = random.choice(parents)
            _change(random, parent, random.randrange(len(parent.children)), parents)
    head = random.choice(_HEADS)
    return (head + _text(random, copy)).encode(errors="surrogatepass")


_MOST_PARENTS = 1_000

_HEADS = (
    *('<?xml version="1.0" encoding="utf-8"?>\n',) * 6,
    "",
    '<?xml version="1.1"?>',
    '<?xml version="1.0" encoding="utf-16"?>',
    '<?xml version="1.0" encoding="x-nothing"?>',
    '<?xml version="1.0" encoding="idna"?>',
    '<?xml version="1.0" encoding="cp037"?>',
    '<!DOCTYPE a [<!ENTITY x "y">]>',
    '<!DOCTYPE a SYSTEM "/etc/passwd">',
    '<!DOCTYPE a [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>',
)


def _element(parsed: ET.Element) -> Element:
    attributes = [(key.removeprefix("kept-"), value) for key, value in parsed.attrib.items()]
    return Element(parsed.tag, attributes, (parsed.text or "").strip(), [_element(child) for child in parsed])


def _copy(element: Element) -> Element:
    children = [_copy(child) for child in element.children]
    return Element(element.tag, list(element.attributes), element.text, children)


def _all(element: Element) -> list[Element]:
    return [element, *(each for child in element.children for each in _all(child))]


def _change(random: Random, parent: Element, position: int, parents: list[Element]) -> None:
    child = parent.children[position]
    kind = random.random()
    if kind < 0.12:
        del parent.children[position]
    elif kind < 0.22:
        parent.children[position:position] = [_copy(child)] * random.choice((1, 1, 3, 60))
    elif kind < 0.3:
        random.choice(parents).children.append(_copy(child))
    elif kind < 0.36:
        for _ in range(random.choice((1, 3, 98, 101))):
            child = Element(child.tag, list(child.attributes), "", [child])
        parent.children[position] = child
    elif kind < 0.42:
        child.tag = random.choice((*(each.tag for each in parents), "x"))
    elif kind < 0.5:
        child.attributes.append((random.choice(("id", "x", "source", "directed", "xmlns")), _value(random)))
    elif kind < 0.75 and child.attributes:
        place = random.randrange(len(child.attributes))
        key, value = child.attributes[place]
        child.attributes[place] = (key, random.choice((_value(random), value + hostile.text(random))))
    elif kind < 0.8 and child.attributes:
        del child.attributes[random.randrange(len(child.attributes))]
    else:
        child.text = _value(random)


def _value(random: Random) -> str:
    return hostile.text(random) if random.random() < 0.5 else hostile.number(random)


def _text(random: Random, element: Element) -> str:
    raw = random.random() < 0.03
    attributes = "".join(
        f' {key}="{value if raw else escape(value, {chr(34): "&quot;"})}"' for key, value in element.attributes
    )
    inside = element.text if raw else escape(element.text)
    children = "".join(_text(random, child) for child in element.children)
    return f"<{element.tag}{attributes}>{inside}{children}</{element.tag}>"
