"""The emulated network: switches, hosts, links, queues, calibration."""
