"""Traffic through a lab: iperf3, ticks, transfers, probes."""
