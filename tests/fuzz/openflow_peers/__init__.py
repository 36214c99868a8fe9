"""Hostile OpenFlow peers, and what they are held against: a live controller or scheduler with real switches."""
