"""Keys and certificates by which controllers, switches and web servers identify themselves."""
