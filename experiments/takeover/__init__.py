"""Packets lost while one controller of a pair takes over from the other."""
