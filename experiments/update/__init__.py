"""Packets lost while plans and controllers are replaced."""
