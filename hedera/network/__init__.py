"""Data-centre networks as the scheduler sees them: hosts, links and equal-cost paths, wiring, matrices."""
