"""Results as data: measurements, exhibits, published numbers, stored files."""
