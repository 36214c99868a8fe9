"""Results for readers: pictures, tables, the report on a folder."""
