"""Measuring on real switches: grounds, load, attempts, flows on wanted tunnels."""
