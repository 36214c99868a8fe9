"""The functions and data of `import kuijia`, on which the command line is built as well."""
