"""Numbers are taken from what Open vSwitch's tools print."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_app.discovery.ovs_output import read_interfaces, read_output, wiring_of
from kuijia_app.tables.wiring_file import wiring_to_json
from kuijia_base.errors import InputError

SHOWN = """\
OFPT_FEATURES_REPLY (OF1.3) (xid=0x2): dpid:00000000000000ff
n_tables:254, n_buffers:0
capabilities: FLOW_STATS TABLE_STATS PORT_STATS GROUP_STATS QUEUE_STATS
OFPST_PORT_DESC reply (OF1.3) (xid=0x3):
 7(to-b): addr:aa:55:aa:55:00:01
     config:     0
     state:      LIVE
     speed: 0 Mbps now, 0 Mbps max
 12(lan): addr:aa:55:aa:55:00:02
     config:     0
 LOCAL(br0): addr:aa:55:aa:55:00:00
     config:     PORT_DOWN
OFPT_GET_CONFIG_REPLY (OF1.3) (xid=0x9): frags=normal miss_send_len=0
"""

LISTED = """\
{"data":[["br0","0000000000000abc"]],"headings":["name","datapath_id"]}
{"data":[["to-a",3],["lan",1],["br0",65534],["broken",["set",[]]]],"headings":["name","ofport"]}
"""

INTERFACES = """\
switches:
  a:
    links: {b: to-b}
    host: {port: lan, prefixes: [10.0.1.0/24]}
  b:
    links: {a: to-a}
"""


def test_names_of_interfaces_become_numbers(tmp_path: Path) -> None:
    for name, text in (("a.txt", SHOWN), ("b.json", LISTED), ("interfaces.yaml", INTERFACES)):
        (tmp_path / name).write_text(text)
    seen = {"a": read_output(tmp_path / "a.txt"), "b": read_output(tmp_path / "b.json")}
    source = tmp_path / "interfaces.yaml"
    assert wiring_to_json(wiring_of(read_interfaces(source), seen, source))["switches"] == {
        "a": {
            "datapath_id": "00000000000000ff",
            "links": {"b": 7},
            "host": {"port": 12, "prefixes": ["10.0.1.0/24"], "address": "10.0.1.1", "gateway": "10.0.1.254"},
        },
        "b": {"datapath_id": "0000000000000abc", "links": {"a": 3}},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "no datapath id, expected the output of"),
        (SHOWN + SHOWN.replace("00ff", "00fe"), "two datapath ids, expected the output of one switch"),
        ('{"headings": ["name"], "data": 5}', "a table without rows, expected the output of"),
    ],
)
def test_other_text_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "other.txt"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_output(path)
    assert str(error.value).startswith(f"{path}: {message}")


def test_an_interface_that_is_missing_is_named(tmp_path: Path) -> None:
    for name, text in (("a.txt", SHOWN), ("b.json", LISTED)):
        (tmp_path / name).write_text(text)
    source = tmp_path / "interfaces.yaml"
    source.write_text(INTERFACES.replace("b: to-b", "b: eth9"))
    seen = {"a": read_output(tmp_path / "a.txt"), "b": read_output(tmp_path / "b.json")}
    with pytest.raises(InputError, match=r"switches\.a: no port 'eth9' in its output, expected one of: lan, to-b"):
        wiring_of(read_interfaces(source), seen, source)
    with pytest.raises(InputError, match=r"switches\.b: no output of this switch is given, expected b=FILE"):
        wiring_of({"b": read_interfaces(source)["b"]}, {}, source)
