"""The command `kuijia`."""
