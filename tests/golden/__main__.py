"""Makes the hashes again and says what has changed: `.venv/bin/python -m tests.golden`."""

from __future__ import annotations

import sys

from tests.golden.hashes import HASHES, ROOT, changes, store, stored, texts


def main() -> None:
    """Store the hashes of all texts, and print the difference to those stored before."""
    made = texts()
    lines = list(changes(stored(), made))
    store(made)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stderr.write(f"wrote {len(made)} hashes into {HASHES.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
