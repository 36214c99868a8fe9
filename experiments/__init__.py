"""The published experiments, one module per table or figure, and how their results are judged and shown."""
