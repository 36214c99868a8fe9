"""Interruption of traffic by a failure."""
