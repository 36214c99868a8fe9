import numpy as np
from numpy.typing import NDArray

def share(
    capacity: NDArray[np.float64],
    first: NDArray[np.int64],
    links: NDArray[np.int32],
    offered: NDArray[np.float64],
    weight: NDArray[np.float64],
    level: NDArray[np.int32],
    elastic: NDArray[np.uint8],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], bool]: ...
