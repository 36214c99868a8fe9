"""The mean number of flows in progress, from the completion times of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MARGIN = 4
"""One of so many flows at the beginning, which meet a network that fills, and as many at the end do not count."""


def in_progress(
    start: NDArray[np.float64], time: NDArray[np.float64], size: NDArray[np.int64], offered: float
) -> float:
    """Return the mean number of flows in progress in a network at which flows arrive for ever.

    By Little's law it is the number of flows that arrive in a second times their mean completion time, or the bytes
    that arrive in a second times the completion time of a byte. A count while flows arrive would leave out the rest of
    all flows that are not over at the last arrival; a large flow can take longer than all arrivals of a run.

    Args:
        start: of each flow, in seconds.
        time: from the start of each flow to its end, in seconds.
        size: of each flow, in bytes.
        offered: bytes that arrive in a second.
    """
    margin = len(start) // MARGIN
    counted = np.argsort(start, kind="stable")[margin : len(start) - margin]
    return offered * float(time[counted].sum() / size[counted].sum())
