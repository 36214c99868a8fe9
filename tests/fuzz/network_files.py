"""Fuzz targets: every format of topologies and demands, failures, probabilities, and networks by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from random import Random

from te_solver.formats.demands_file import demands_csv, load_demands
from te_solver.formats.failures_file import load_failures, load_probabilities
from te_solver.formats.topohub_networks import PREFIX
from te_solver.formats.topology_file import load_topology, save_topology
from te_solver.formats.topology_yaml import topology_yaml
from te_solver.model.failures import single_links
from te_solver.model.topology import Topology
from te_solver.networks import shipped_network
from tests.fuzz import bytes_mutations, examples
from tests.fuzz.file_target import FileTarget, Grammar, JsonGrammar, LinesGrammar, Notes, XmlGrammar, YamlGrammar
from tests.fuzz.targets import BrokenContractError, CaseTarget

_READ_AGAIN = 50_000
"""Bytes up to which what was written is read again: two readings of a large file may take the time of two."""


@cache
def triangle() -> Topology:
    """Return the network that demands, failures and probabilities are read for: that of `examples`."""
    return load_topology(examples.FOLDER / "triangle.yaml")


def read_topology(file_format: str | None, path: Path) -> None:
    """Read a topology as `kuijia topology convert` does, write it, and read that again."""
    notes = Notes()
    topology = load_topology(path, file_format, None, notes.append)
    notes.require_sound()
    copy = path.with_name("copy.yaml")
    save_topology(topology, copy, "\n".join(notes))
    if copy.stat().st_size < _READ_AGAIN and load_topology(copy) != topology:
        raise BrokenContractError("a topology that was written is another when it is read")


def read_demands(file_format: str | None, path: Path) -> None:
    notes = Notes()
    load_demands(path, triangle(), file_format, note=notes.append)
    notes.require_sound()


def read_failures(path: Path) -> None:
    load_failures(path, triangle())


def read_probabilities(path: Path) -> None:
    notes = Notes()
    load_probabilities(path, triangle(), tuple(single_links(triangle())), notes.append)
    notes.require_sound()


class NamedNetworks(CaseTarget):
    """Names after `topohub:`, which become paths inside a package."""

    name = "topology:topohub"
    suffix = ".name"
    share = 0.1
    _NAMES = (
        "topozoo/Abilene",
        "sndlib/polska",
        "topozoo/abilene",
        "backbone/africa",
        "../topozoo/Abilene",
        "topozoo",
        "",
    )
    _WORDS = (b"/", b"..", b"topozoo", b"sndlib/", b":", b"%2e", b"\\", b".json", b"//")

    def make(self, random: Random) -> bytes:
        name = random.choice(self._NAMES).encode()
        if random.random() < 0.05:
            return bytes_mutations.pumped(random, name, self._WORDS, 5_000)
        return bytes_mutations.mutated(random, name, (name,), self._WORDS)

    def lay(self, content: bytes, folder: Path) -> Sequence[str]:  # noqa: ARG002  # a name has no file
        return (PREFIX + content.decode(errors="surrogateescape"),)

    def run(self, arguments: Sequence[str]) -> None:
        (name,) = arguments
        load_topology(name)


_YAML, _XML = YamlGrammar(), XmlGrammar()
_GML = LinesGrammar(
    *("graph [", "node [", "edge [", "]", "[", '"', "id 0", "source 1", "target", "label", "directed 1", "#", "&#252;"),
    *(
        "&#0;",
        "&#55296;",
        "&#x110000;",
        "&amp;",
        "&",
        f"&#{'9' * 4301};",
        "hyperedge 1",
        "LinkSpeedRaw",
        "LinkSpeed",
        "multigraph 1",
    ),
)
_SNDLIB = LinesGrammar(
    *(
        "(",
        ")",
        "NODES (",
        "LINKS (",
        "DEMANDS (",
        "META (",
        "?SNDlib native format; type: network; version: 1.0",
        "#",
        "?",
    ),
    *("UNLIMITED", "unit = GBITPERSEC", "unit =", "=", ";"),
)
_TEAVAR = LinesGrammar(
    "0", "1", "2", "3", "4", "100000", ".01", "to_node from_node capacity prob_failure", "\n\n", "\t"
)
_REPETITA = LinesGrammar(
    *("NODES", "EDGES", "DEMANDS", "3", "0", "1", "-1", "10000", "label x y", "label src dest weight bw delay"),
    *("label src dest bw", "edge_0 0 1 10 10000 500", "\n\n", " "),
)
_YATES = LinesGrammar(
    *(
        "strict",
        "digraph",
        "graph",
        "{",
        "}",
        "[",
        "]",
        "->",
        "--",
        ";",
        "=",
        '"',
        "/*",
        "*/",
        "//",
        "#",
        "subgraph",
        ",",
    ),
    *('capacity="1Gbps"', "type=host", "type=switch", "s1", "h1", "\\", "1e6", "0", "nan", "\n"),
)
_NUMBERS = LinesGrammar("0", "1", "2", "-1", "1e400", "nan", "0.5", "i j cap", "s t h tm", "100001", "\t", "\n", " ")
_CSV = LinesGrammar(",", '"', '""', "#", "\n", "source,target,rate,priority", "Bonn", "Kiel", "Ulm", ",,", " , ")


def _topology(name: str, file: str, file_format: str | None, grammar: Grammar, *names: str) -> FileTarget:
    load = partial(examples.texts, *names)
    return FileTarget(f"topology:{name}", file, load, partial(read_topology, file_format), grammar)


def _demands(name: str, file: str, file_format: str | None, grammar: Grammar, *names: str) -> FileTarget:
    load = partial(examples.texts, *names)
    return FileTarget(f"demands:{name}", file, load, partial(read_demands, file_format), grammar)


def _yaml_examples() -> list[str]:
    fig1 = load_topology(shipped_network("fig1"))
    return [
        *examples.texts("triangle.yaml"),
        shipped_network("fig1").read_text(encoding="utf-8"),
        topology_yaml(fig1, "a comment"),
    ]


def _csv_examples() -> list[str]:
    topology = triangle()
    demands = load_demands(examples.FOLDER / "demands.csv", topology)
    return [*examples.texts("demands.csv"), demands_csv(demands, "a comment")]


TARGETS: Sequence[CaseTarget] = (
    FileTarget("topology:yaml", "case.yaml", _yaml_examples, partial(read_topology, None), _YAML),
    _topology("graphml", "case.graphml", None, _XML, "zoo.graphml", "plain.graphml"),
    _topology("gml", "case.gml", None, _GML, "zoo.gml", "plain.gml"),
    _topology("sndlib", "case.xml", None, _XML, "sndlib.xml"),
    _topology("sndlib-native", "case.txt", "sndlib", _SNDLIB, "sndlib.txt"),
    _topology("teavar", "topology.txt", None, _TEAVAR, "topology.txt"),
    FileTarget(
        "topology:teavar-nodes",
        "nodes.txt",
        partial(examples.texts, "nodes.txt"),
        lambda path: read_topology(None, path.with_name("topology.txt")),
        _TEAVAR,
        {"topology.txt": "to_node from_node capacity\n1 2 10\n2 1 10\n2 3 5\n"},
    ),
    _topology("repetita", "case.graph", None, _REPETITA, "net.graph"),
    _topology("yates", "case.dot", None, _YATES, "net.dot"),
    _topology("flexile", "case.tab", None, _NUMBERS, "capacities.tab"),
    _topology("node-link", "case.json", "node-link", JsonGrammar(), "node_link.json"),
    NamedNetworks(),
    FileTarget("demands:csv", "case.csv", _csv_examples, partial(read_demands, None), _CSV),
    _demands("sndlib", "case.xml", None, _XML, "sndlib.xml"),
    _demands("sndlib-native", "case.txt", "sndlib", _SNDLIB, "sndlib.txt"),
    _demands("teavar", "case.txt", "teavar", _TEAVAR, "demand.txt"),
    _demands("repetita", "case.demands", None, _REPETITA, "net.demands"),
    _demands("yates", "case.txt", "yates", _YATES, "matrices.txt"),
    _demands("figret", "case.hist", None, _NUMBERS, "net.hist"),
    _demands("flexile", "case.tab", None, _NUMBERS, "traffic.tab"),
    FileTarget(
        "failures:csv",
        "case.csv",
        partial(examples.texts, "failures.csv"),
        read_failures,
        LinesGrammar(",", '"', "failure,a,b", "Bonn", "Kiel", "#", ",,", "\n"),
    ),
    FileTarget(
        "probabilities:csv",
        "case.csv",
        partial(examples.texts, "probabilities.csv", "named_probabilities.csv"),
        read_probabilities,
        LinesGrammar(
            ",", '"', "a,b,probability", "failure,probability", "Bonn", "Kiel", "link Bonn-Kiel", "0.5", "1", "#"
        ),
    ),
)
