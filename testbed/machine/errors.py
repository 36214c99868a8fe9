"""The error of an emulated network that could not be built, measured or kept running."""

from __future__ import annotations

from kuijia_base.errors import KuijiaError


class TestbedError(KuijiaError):
    """A command, switch, interface or measurement of the testbed failed; the command exits with status 1."""

    __test__ = False  # pytest collects classes named Test*
