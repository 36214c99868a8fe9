"""The edge to the controller framework: applications that outlive faults, their start, log and end."""
