"""This machine: programs, processes, namespaces, Open vSwitch, run directories."""
