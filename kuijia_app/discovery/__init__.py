"""Finds the wiring of switches that run: by probes between them, or from what Open vSwitch's tools print."""
