"""Interfaces of links: switching, watching and counting them; emulation and boxes use the same modules."""
