"""ns-3 as a peer: the packet model's networks and flows in a program compiled against ns-3's wheel."""
