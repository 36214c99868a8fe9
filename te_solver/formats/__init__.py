"""Readers of topologies and demands, one module for each file format."""
