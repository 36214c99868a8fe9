"""Sweeps: the same work on many cases, on all processors or a cluster, which a killed run does not lose."""
