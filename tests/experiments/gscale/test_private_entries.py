"""A flow's entries carry it and its way back over one tunnel in one queue."""

from __future__ import annotations

from experiments.gscale.bench import entries_of
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.wiring import Wiring
from te_solver.formats.topology_file import load_topology
from te_solver.model.plan import Tunnel
from te_solver.networks import shipped_network
from testbed.links.label_observer import EgressFlowKey

VICTIM = PLAIN_LAYOUT.classes[0].victim


def test_each_end_marks_the_packets_of_its_direction() -> None:
    wiring = Wiring(load_topology(shipped_network("gscale")))
    tunnel = Tunnel(17, ("1", "4", "7", "9"), 5.0, 0.5)
    (ingress, there), (egress, back) = entries_of(wiring, EgressFlowKey("tcp", "10.0.1.1", 10001, 5201), tunnel, VICTIM)
    assert (ingress, egress) == ("1", "9")
    assert "in_port=4,tcp,nw_src=10.0.1.1,nw_dst=10.0.9.1,tp_src=10001,tp_dst=5201" in there
    assert "in_port=5,tcp,nw_src=10.0.9.1,nw_dst=10.0.1.1,tp_src=5201,tp_dst=10001" in back
    for entry, port in ((there, wiring.port("1", "4")), (back, wiring.port("9", "7"))):
        assert entry.endswith(f"set_field:17->mpls_label,set_field:1->mpls_tc,set_queue:2,output:{port}")
