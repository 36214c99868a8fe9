"""Results as data: what was measured, exhibits made of it, published numbers, stored files."""
