"""Ways to choose the paths of pairs: a file with a `CHOICE` for each; nothing else has to name it."""
