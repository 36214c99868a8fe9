"""The published experiments, one module per table or figure, and the code that judges and shows their results."""
