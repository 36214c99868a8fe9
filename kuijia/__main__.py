"""`python -m kuijia`, the same as the command `kuijia`."""

from __future__ import annotations

import sys

from kuijia.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
