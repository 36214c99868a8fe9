"""Transports under the victims' queue: a question of our own."""
