"""Interface to the controller framework: start, faults, log and end of applications."""
