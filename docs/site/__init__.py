"""The documentation site: stages the pages of `docs/`, writes the generated ones, builds and checks the result."""
