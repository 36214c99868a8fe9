"""Benchmarks of speed and memory against named peers; every run measures both sides itself."""
