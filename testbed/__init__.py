"""The emulated testbed: real switches, real queues, real traffic, link failures."""
