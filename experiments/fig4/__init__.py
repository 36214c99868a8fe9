"""Figure 4: losses over all failures of a large network."""
