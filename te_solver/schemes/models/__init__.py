"""What each failure scheme does to rates, for computed results; switches need none of this."""
