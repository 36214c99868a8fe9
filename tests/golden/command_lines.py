"""Command lines whose output is hashed: small ones of every verb that only computes, in a folder with `FILES`."""

from __future__ import annotations

FILES = {
    "square.yaml": """\
name: square
nodes: [a, b, c, d]
links:
  - {a: a, b: b, capacity: 100, delay: 0.002}
  - {a: b, b: c, capacity: 100, delay: 0.003}
  - {a: c, b: d, capacity: 40, delay: 0.001}
  - {a: d, b: a, capacity: 100, delay: 0.002}
  - {a: a, b: c, capacity: 60, delay: 0.005}
""",
    "square.csv": "source,target,rate,priority\na,c,90,0\nb,d,50,0\nc,a,30,1\n",
    "failures.csv": "failure,a,b\nduct,a,b\nduct,b,c\nsite,d,\n",
}

PREPARED = (
    "solve fig1 -o fig1.json",
    "solve gscale -o gscale.json",
    "solve square.yaml square.csv -o square.json",
)
"""Commands that run first: they write the plans that others read."""

LINES = (
    # solve
    "solve fig1 --json",
    "solve square.yaml square.csv --json --tunnels 2",
    "solve square.yaml square.csv --json --objective max-min",
    "solve square.yaml square.csv --json --objective ffc --protect 1",
    "solve square.yaml square.csv --json --objective min-max-utilisation --spread",
    "solve fig1 --json --objective edge-max-throughput",
    "solve square.yaml square.csv --json --objective cspf",
    "solve square.yaml square.csv --json --objective swan:alpha=1.5",
    "solve square.yaml square.csv --json --paths ksp --tunnel-weight delay",
    "solve square.yaml square.csv --json --paths edge-disjoint-flow",
    "solve square.yaml square.csv --json --paths vlb",
    "solve square.yaml square.csv",
    # whatif
    "whatif fig1 --json",
    "whatif square.yaml square.csv --json --failures links,pairs",
    "whatif square.yaml square.csv --json --failures nodes --udp --schemes kuijia,rescaling",
    "whatif square.yaml square.csv --json --failures failures.csv --split failover-order",
    "whatif square.yaml square.csv --json --schemes recompute --new-tunnels --weighting offered",
    "whatif --plan fig1.json --json --probabilities table1-5min",
    "whatif square.yaml square.csv",
    "whatif fig1 --json --backend packet --seconds 0.02 --failures s1-s2 --schemes kuijia,rescaling --workers 1",
    # packet
    "packet dumbbell:2 --flows 4 --json --workers 1",
    "packet leaf-spine:2,2,3 --flows 40 --sizes web-server --json --workers 1",
    "packet leaf-spine:2,2,3 --flows 40 --sizes web-server --load 0.2,0.8 --queue drop-tail,cqrd --json --workers 1",
    "packet leaf-spine:2,2,3 --flows 30 --sizes web-server --transport dctcp --load-balancer conga --json --workers 1",
    "packet leaf-spine:2,2,3 --flows 30 --sizes web-server --load-balancer hermes --json --workers 1",
    "packet single-switch:4 --flows 20 --sizes web-server --transport expresspass --json --workers 1",
    "packet single-switch:4 --flows 20 --sizes web-server --transport flashpass --json --workers 1",
    "packet single-switch:4 --flows 20 --sizes web-server --transport bbr --json --workers 1",
    "packet leaf-spine:2,2,3 --at-once --pattern permutation --sizes 100000 --json --workers 1",
    "packet fat-tree:4 --at-once --pattern incast:4 --sizes 50000 --handshake --own-streams --json --workers 1",
    "packet square.yaml --flows 10 --sizes web-server --load-of network --json --workers 1",
    "packet dumbbell:2 --flows 4 --workers 1",
    # topology and demands
    "topology fig1 --json",
    "topology gscale --json",
    "topology square.yaml --json",
    "topology square.yaml",
    "topology convert fig1",
    "demands fig1 --json",
    "demands gscale --json --model uniform",
    "demands square.yaml --json --model bimodal --seed 3",
    "demands square.yaml --json --model pairs --pairs 3 --rate 10M",
    "demands square.yaml --json --masses random --total 100",
    "demands square.yaml --ncflow gaussian",
    # compile, verify and trace
    "compile fig1.json --json",
    "compile gscale.json --json",
    "compile square.json",
    "verify fig1.json --json",
    "verify square.json --json --failures pairs",
    "verify square.json --json --failures nodes --liveness bfd",
    "verify square.json --json --scheme rescaling",
    "verify square.json",
    "trace fig1.json s1->s4 --json",
    "trace square.json a->c --json --failures a-c",
    "trace square.json c->a --json --tagging vlan --pipeline decomposed",
    "trace square.json a->c --failures a-c",
    # experiments and refusals
    "list --json",
    "list",
    "sovle",
    "solve fig2",
    "solve square.yaml square.csv --objective max-mim",
    "solve square.yaml square.csv --tunnels 0",
    "whatif square.yaml square.csv --failures a-d,a-x",
    "packet leaf-spine:2 --flows 4",
    "packet dumbbell:2 --flows 4 --queue red",
    "demands fig1 --pairs 3",
    "compile missing.json",
    "verify fig1.json --layout fourteen",
    "trace fig1.json s1->s9",
    "run fig5",
    "run fig6 --workers 2",
    "run fig4 --backend emulation",
)

EXPERIMENTS = (
    *("table2 flow", "table3 flow", "fig6 tables", "fig8 tables", "fields tables", "fig10 flow", "table2 packet"),
    *("ffc-vacancy flow", "cqrd-toy packet", "flashpass-fig4 packet", "expresspass-parking-lot packet"),
    *("hermes-motivation packet", "hermes-table6 packet", "hedera-shuffle flow"),
    *("fig4 flow", "fig12 flow", "fig13 flow", "fig14 flow", "fig16 flow", "indirect flow", "hedera-matrices flow"),
)
"""Experiments and backends whose quick runs take seconds."""

TABLE_OPTIONS = (
    "",
    "--scheme rescaling",
    "--scheme rescaling-renormalised",
    "--slots 16",
    "--layout eight",
    "--layout four --tagging dscp-ecn",
    "--tagging vlan",
    "--pipeline decomposed",
    "--liveness bfd",
    "--other-traffic forward",
    "--neighbours learned",
)
"""Options with which the tables of the plans of all shipped networks are compiled."""

OBJECTIVES = ("max-throughput", "max-min", "ffc", "min-max-utilisation", "static-splits")
"""Objectives for which the shipped networks are solved."""
