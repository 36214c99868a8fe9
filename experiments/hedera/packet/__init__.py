"""Hedera in the packet model: the scheduler's own code steers simulated packets."""
