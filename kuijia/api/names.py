"""Names that options take, for editors to complete; a test holds them equal to what there is.

Where installed packages add names, or a file or a number may stand, an option takes any other text too: it is typed
`Name | str`, of which editors complete the names and checkers accept every text.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

NetworkName: TypeAlias = Literal["fig1", "gscale"]
TopologyFormatName: TypeAlias = Literal[
    "yaml", "graphml", "gml", "yates", "sndlib", "teavar", "repetita", "flexile", "node-link"
]
DemandFormatName: TypeAlias = Literal["csv", "sndlib", "teavar", "repetita", "yates", "figret", "flexile"]
RateUnitName: TypeAlias = Literal["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]
ModelName: TypeAlias = Literal["gravity", "uniform", "bimodal", "pairs"]
MassesName: TypeAlias = Literal["capacity", "random"]

ObjectiveName: TypeAlias = Literal[
    "max-throughput",
    "max-min",
    "ffc",
    "min-max-utilisation",
    "static-splits",
    "max-concurrent",
    "edge-max-throughput",
    "edge-max-concurrent",
    "edge-min-max-utilisation",
    "cspf",
    "smore",
    "hedging",
    "demand-pinning",
    "lp-top",
    "swan",
    "adaptive-waterfilling",
    "equi-depth-bins",
    "b4",
    "pop",
    "ncflow",
    "fleischer",
    "teavar",
    "flexile",
    "oblivious",
    "cope",
]
PathsName: TypeAlias = Literal["disjoint", "node-disjoint", "ecmp", "edge-disjoint-flow", "ksp", "raeke", "vlb"]

SchemeName: TypeAlias = Literal["kuijia", "rescaling", "rescaling-renormalised", "precomputed", "ffc", "recompute"]
BackendName: TypeAlias = Literal["flow", "packet"]
FailuresName: TypeAlias = Literal["links", "pairs", "nodes"]
SplitName: TypeAlias = Literal["proportional", "failover-order"]
WeightingName: TypeAlias = Literal["equal", "offered"]
ProbabilitiesName: TypeAlias = Literal["topology", "none", "table1-2min", "table1-5min", "table1-10min"]

SizesName: TypeAlias = Literal[
    "cache-follower",
    "cqrd",
    "data-mining",
    "data-mining-expresspass",
    "facebook",
    "wan-alibaba",
    "web-search",
    "web-search-expresspass",
    "web-server",
]
PatternName: TypeAlias = Literal["random", "permutation", "all-to-all"]
ArrivalsName: TypeAlias = Literal["poisson", "log-normal"]
LoadOfName: TypeAlias = Literal["hosts", "network"]
QueueName: TypeAlias = Literal[
    "drop-tail", "random-drop", "red", "cq", "hcf", "cqrd", "shared-buffer", "drop-thresholds"
]
TcpName: TypeAlias = Literal["newreno", "cubic", "dctcp", "vegas", "copa", "bbr"]
TransportName: TypeAlias = Literal[TcpName, "flashpass", "flashpass*", "expresspass", "expresspass*"]
LoadBalancerName: TypeAlias = Literal[
    "fixed",
    "ecmp",
    "labels",
    "flowlets",
    "letflow",
    "conga",
    "round-robin",
    "cells",
    "random",
    "rps",
    "drb",
    "presto",
    "flowbender",
    "clove-ecn",
    "hermes",
    "hermes-ns3",
]

SwitchSchemeName: TypeAlias = Literal["kuijia", "rescaling", "rescaling-renormalised"]
LayoutName: TypeAlias = Literal["plain", "eight", "four"]
TaggingName: TypeAlias = Literal["mpls", "dscp-ecn", "vlan"]
PipelineName: TypeAlias = Literal["single", "decomposed"]
LivenessName: TypeAlias = Literal["controller", "bfd"]
OtherTrafficName: TypeAlias = Literal["drop", "forward"]
NeighboursName: TypeAlias = Literal["wiring", "static", "learned"]
