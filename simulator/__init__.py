"""Simulators that answer without switches what the testbed answers with them."""
