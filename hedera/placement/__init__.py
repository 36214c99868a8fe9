"""Placement of large flows on paths: one small interface, one file for each algorithm."""
