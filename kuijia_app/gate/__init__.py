"""The gate in front of the framework's parser: reads the sockets of switches within limits, and checks messages."""
