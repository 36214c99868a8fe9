"""What-if studies packet by packet: losses and completion times in the first seconds after each failure."""
