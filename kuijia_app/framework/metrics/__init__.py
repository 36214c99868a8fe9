"""Metrics of running programs: their values, the page that Prometheus reads, and the server of that page."""
