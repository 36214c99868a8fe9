"""Packets lost while one controller of a pair acts in place of the other."""
