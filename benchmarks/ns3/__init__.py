"""ns-3 as a peer: the packet model's networks and flows, in a program that is compiled against its wheel."""
