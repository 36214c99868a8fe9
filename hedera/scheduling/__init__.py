"""The scheduler on real switches: tables, messages, counters and routes, from round to round."""
