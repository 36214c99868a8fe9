"""Throughput that forward fault correction gives up for failures that may come."""
