"""csg-htsim as a peer: the packet model's networks and flows in a program compiled with htsim's source."""
