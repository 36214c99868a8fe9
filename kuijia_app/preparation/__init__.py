"""Preparation of switches: queues, frame sizes and ports that OpenFlow cannot create."""
