"""Sweeps: the same work on many cases, on all processors or a cluster; a killed run keeps its finished cases."""
