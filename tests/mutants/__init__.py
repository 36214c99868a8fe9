"""Changes lines of a room one at a time, and says which changes no test notices."""
