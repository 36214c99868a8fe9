"""A running lab: network and controller together, failures, and the service behind `kuijia lab`."""
