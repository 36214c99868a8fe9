"""Which way each large flow goes: one small interface, one file for each way of deciding."""
