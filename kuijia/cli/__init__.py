"""The `kuijia` command, one file per verb."""
