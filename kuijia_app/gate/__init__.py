"""The gate in front of the framework's parser: every socket of a switch, under limits, and what may pass from it."""
