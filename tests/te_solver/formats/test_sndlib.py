from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from tests.te_solver.formats.reading import capacities, complaint, read

HEADER = "?SNDlib native format; type: network; version: 1.0\n"
NO_UNIT = "the file names no unit: its capacities and demands are taken as Mbit/s"

NATIVE = f"""{HEADER}# made by hand
META (
  granularity = 5min
  unit = {{unit}}   # of everything below
)
NODES (
  Berlin ( 13.40 52.52 )
  Bonn (7.1 50.7) ( ) ()
  Kiel
)
LINKS (
  L1 ( Berlin Bonn ) 40.00 0.00 0.00 1.00 ( 155.00 156.00 622.00 468.00 )
  L2 ( Bonn Kiel ) 0.00 0.00 0.00 0.00 ( 155.00 156.00 622.00 468.00 )
  L3 ( Kiel Berlin ) 0 0 0 0 ( )
)
DEMANDS (
  D1 ( Berlin Kiel ) 1 12.50 UNLIMITED
  D2 ( Kiel Bonn ) 2 3 4
  D3 ( Berlin Kiel ) 1 0.50 UNLIMITED
  D4 ( Kiel Kiel ) 1 5 UNLIMITED
  D5 ( Bonn Kiel ) 1 0 UNLIMITED
)
ADMISSIBLE_PATHS (
  D1 ( P_0 ( L1 L2 ) P_1 ( L3 ) )
)
"""

XML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta><granularity>5min</granularity><unit>{unit}</unit></meta>
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="Berlin"><coordinates><x>13.40</x><y>52.52</y></coordinates></node>
   <node id="Bonn"/><node id="Kiel"/>
  </nodes>
  <links>
   <link id="L1"><source>Berlin</source><target>Bonn</target>
    <preInstalledModule><capacity>40.0</capacity><cost>0.0</cost></preInstalledModule>
    <additionalModules><addModule><capacity>155.0</capacity><cost>1.0</cost></addModule></additionalModules>
   </link>
   <link id="L2"><source>Bonn</source><target>Kiel</target>
    <additionalModules>
     <addModule><capacity>155.0</capacity><cost>1.0</cost></addModule>
     <addModule><capacity>622.0</capacity><cost>3.0</cost></addModule>
    </additionalModules>
   </link>
   <link id="L3"><source>Kiel</source><target>Berlin</target></link>
  </links>
 </networkStructure>
 <demands>
  <demand id="D1"><source>Berlin</source><target>Kiel</target><demandValue>12.5</demandValue></demand>
  <demand id="D2"><source>Kiel</source><target>Bonn</target>
   <routingUnit>2</routingUnit><demandValue>3</demandValue></demand>
  <demand id="D3"><source>Berlin</source><target>Kiel</target><demandValue>0.5</demandValue></demand>
  <demand id="D4"><source>Kiel</source><target>Kiel</target><demandValue>5</demandValue></demand>
  <demand id="D5"><source>Bonn</source><target>Kiel</target><demandValue>0</demandValue></demand>
 </demands>
</network>
"""


@pytest.mark.parametrize(("name", "content"), [("tiny.txt", NATIVE), ("tiny.xml", XML)])
def test_both_formats_give_the_same_network_and_demands(tmp_path: Path, name: str, content: str) -> None:
    topology, notes = read(tmp_path / name, content.format(unit="MBITPERSEC"))
    assert topology.name == "tiny"
    assert topology.nodes == ("Berlin", "Bonn", "Kiel")
    assert capacities(topology) == [
        ("Berlin", "Bonn", 40),
        ("Bonn", "Berlin", 40),
        ("Bonn", "Kiel", 622),
        ("Kiel", "Bonn", 622),
        ("Kiel", "Berlin", 1000),
        ("Berlin", "Kiel", 1000),
    ]
    assert notes == [
        "1 of 3 links without installed capacity: that of the largest module taken",
        "1 of 3 edges without a capacity: 1 Gbit/s assumed",
    ]
    notes.clear()
    demands = load_demands(tmp_path / name, topology, note=notes.append)
    assert demands == (Demand("Berlin", "Kiel", 13), Demand("Kiel", "Bonn", 6))
    assert notes == [
        "1 pair with several demands: they are added",
        "1 demand of a node to itself left out",
        "1 demand of zero left out",
    ]


@pytest.mark.parametrize(("name", "content"), [("tiny.txt", NATIVE), ("tiny.xml", XML)])
def test_the_unit_of_the_file_is_converted(tmp_path: Path, name: str, content: str) -> None:
    topology, _ = read(tmp_path / name, content.format(unit="GBITPERSEC"))
    assert topology.link("Bonn", "Kiel").capacity == 622_000
    assert topology.link("Kiel", "Berlin").capacity == 1000
    assert load_demands(tmp_path / name, topology)[1] == Demand("Kiel", "Bonn", 6000)
    assert complaint(tmp_path / name, content.format(unit="ERLANG")) == (
        ": unit 'ERLANG', expected one of BITSPERSEC, KBITPERSEC, MBITPERSEC, GBITPERSEC"
    )


def test_links_are_directed_when_each_has_its_reverse(tmp_path: Path) -> None:
    links = "L1 ( a b ) 1 0 0 0 ( )\nL2 ( b a ) 2 0 0 0 ( )\n"
    topology, notes = read(tmp_path / "x.txt", f"{HEADER}NODES ( a b )\nLINKS ( {links} )\n")
    assert capacities(topology) == [("a", "b", 1), ("b", "a", 2)]
    assert notes == [NO_UNIT, "each link has its reverse in the file: links are taken as directed"]


def test_any_suffix_does_when_the_format_is_named(tmp_path: Path) -> None:
    for name, content in (("a.net", NATIVE), ("b.net", XML)):
        path = tmp_path / name
        path.write_text(content.format(unit="MBITPERSEC"))
        assert len(load_topology(path, "sndlib").links) == 6
        assert len(load_demands(path, load_topology(path, "sndlib"), "sndlib")) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "?SNDlib native format; type: solution; version: 1.0\n",
            f":1: found '?SNDlib native format; type: solution; version: 1.0', expected {HEADER.strip()}",
        ),
        (
            "# comment\n\nNODES (\na )",
            f":3: found 'NODES (', expected {HEADER.strip()}",
        ),
        (HEADER + "NODES (\na", ": the file ends in the middle of a section, expected a node"),
        (HEADER + "NODES (\na ( 1", ": the file ends in the middle of a section, expected )"),
        (HEADER + "KNOTS (\n)", ":2: unknown section 'KNOTS', expected NODES, LINKS, DEMANDS, META"),
        (HEADER + "NODES\nLINKS", ":3: found 'LINKS', expected '('"),
        (HEADER + "LINKS (\nL1 ( a ) )", ":3: found ')', expected a node"),
        (HEADER + "LINKS (\nL1 ( a b c )", ":3: found 'c', expected ')'"),
        (
            HEADER + "LINKS (\nL1 ( a b ) much 0 0 0 ( ) )",
            ":3: the pre-installed capacity 'much' is not a number, expected a number",
        ),
        (HEADER + "LINKS (\nL1 ( a b ) 1 0 0 0 ( 5 ) )", ":3: found ')', expected the cost of a module"),
        (
            HEADER + "NODES ( a b )\nLINKS (\nL1 ( a c ) 1 0 0 0 ( ) )",
            ":4: edge 'a' to 'c': unknown node 'c', expected a node of the file",
        ),
        (
            HEADER + "NODES ( a b )\nLINKS (\nL1 ( a b ) -1 0 0 0 ( ) )",
            ":4: edge 'a' to 'b' has capacity -1, expected a finite number of Mbit/s greater than zero",
        ),
        (HEADER + "NODES ( a\na )", ":3: node 'a' is given twice, expected different nodes"),
        (
            HEADER,
            ": 0 nodes and no link between two of them, expected a network of at least two nodes and one link",
        ),
    ],
)
def test_a_bad_native_file_is_refused_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "x.sndlib"
    path.write_text(content)
    with pytest.raises(InputError) as raised:
        load_topology(path, "sndlib")
    assert str(raised.value) == f"{path}{said}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<graphml/>", ":1: the document is a 'graphml', expected an SNDlib network in XML: a 'network'"),
        (
            "<network>\n</network>",
            ": 0 nodes and no link between two of them, expected a network of at least two nodes and one link",
        ),
        (
            "<network><networkStructure><nodes>\n<node/></nodes></networkStructure></network>",
            ":2: a node without id, expected an SNDlib network in XML",
        ),
        (
            "<network><networkStructure><links>\n<link><source>a</source></link></links></networkStructure></network>",
            ":2: a link without target, expected an SNDlib network in XML",
        ),
        (
            XML.format(unit="MBITPERSEC").replace("40.0", "many"),
            ":11: capacity 'many' is not a number, expected a number",
        ),
        (
            XML.format(unit="MBITPERSEC").replace(">12.5<", "><"),
            ":24: demandValue '' is not a number, expected a number",
        ),
    ],
)
def test_a_bad_xml_file_is_refused_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    assert complaint(tmp_path / "x.xml", content) == said


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        ("D ( a x ) 1 5 UNLIMITED", "4: unknown node 'x', expected a node of net"),
        ("D ( a b ) 1 -5 UNLIMITED", "4: rate -5, expected a finite number of Mbit/s, zero or more"),
        ("D ( a b ) 1 nan UNLIMITED", "4: rate nan, expected a finite number of Mbit/s, zero or more"),
        ("D ( a b ) 1 0 UNLIMITED", " there is no demand above zero, expected at least one"),
        ("", " there is no demand above zero, expected at least one"),
    ],
)
def test_bad_demands_are_refused_with_their_line(tmp_path: Path, demand: str, said: str) -> None:
    path = tmp_path / "net.txt"
    topology, _ = read(path, f"{HEADER}NODES ( a b ) LINKS ( L ( a b ) 1 0 0 0 ( ) )\nDEMANDS (\n{demand}\n)\n")
    with pytest.raises(InputError) as raised:
        load_demands(path, topology)
    assert str(raised.value) == f"{path}:{said}"


@pytest.mark.parametrize(
    "meta",
    [
        "META (\n  author = someone (someone@example.net)\n  unit = GBITPERSEC\n)\n",
        "META (\n  author = a :) and b (\n  unit = GBITPERSEC\n  note = unit = MBITPERSEC\n)\n",
        "META (\n  a line of its own (free)\n  unit = GBITPERSEC )\n",
        "  META ( unit = GBITPERSEC )\n",
        "META (unit=GBITPERSEC\n)",
    ],
)
def test_the_text_of_meta_is_free_and_only_the_unit_counts(tmp_path: Path, meta: str) -> None:
    text = f"{HEADER}{meta}\nNODES ( a b )\nLINKS ( L1 ( a b ) 2 0 0 0 ( ) )\n"
    topology, notes = read(tmp_path / "x.txt", text)
    assert capacities(topology) == [("a", "b", 2000), ("b", "a", 2000)]
    assert notes == []


def test_a_meta_that_never_ends_is_refused(tmp_path: Path) -> None:
    said = complaint(tmp_path / "x.txt", f"{HEADER}META (\n unit = GBITPERSEC\nNODES ( a b )\n")
    assert said == ": the file ends in the middle of a section, expected a key"


def test_an_indented_file_is_known_by_its_heading(tmp_path: Path) -> None:
    text = NATIVE.format(unit="MBITPERSEC").replace("\n", "\n    ")
    topology, _ = read(tmp_path / "tiny.txt", f"    {text}")
    assert len(topology.links) == 6
    assert len(load_demands(tmp_path / "tiny.txt", topology)) == 2
