"""Placement of large flows on paths: one small interface, and the algorithms."""
