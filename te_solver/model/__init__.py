"""What a plan is about: networks, demands, failures, and the Plan itself, as plain data."""
