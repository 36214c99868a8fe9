"""The published experiments, one package per question, and the packages that measure, judge and show results."""
