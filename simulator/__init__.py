"""Simulators that answer the testbed's questions without switches."""
