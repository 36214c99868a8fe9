"""Placement of large flows on paths: one small interface, and one file for each algorithm."""
