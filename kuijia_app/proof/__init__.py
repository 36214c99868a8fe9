"""Proofs about switch tables: verification, traces, and the model of a network of switches."""
