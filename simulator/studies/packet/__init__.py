"""Loads, schemes and seeds of the packet model side by side."""
