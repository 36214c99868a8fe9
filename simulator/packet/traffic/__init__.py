"""Traffic of the packet model: hosts, sizes and starts of flows."""
