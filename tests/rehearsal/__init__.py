"""A model of switches, connections and time around the controller's own code, and faults in it."""
