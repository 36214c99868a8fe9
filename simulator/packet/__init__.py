"""The packet model: every packet of every flow through queues and links, in a compiled core."""
