"""Cases of a sweep by key: runs all of them and gives the results in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import Workers

Key = TypeVar("Key")
Case = TypeVar("Case")


@contextmanager
def swept_by_key(
    name: str,
    keyed: Mapping[Key, Sequence[Case]],
    work: Callable[[None, Case], Any],
    workers: Workers,
    output: OutputFolder,
    progress: Progress,
) -> Iterator[dict[Key, list[Any]]]:
    """Yield what `work` makes of each case, by key and in order, while the block writes the sweep's own files."""
    cases = [case for of_key in keyed.values() for case in of_key]
    sweep = Sweep(
        name, {"cases_of": [repr(case) for case in cases]}, None, prepare=no_preparation, work=work, cases=cases
    )
    with swept(sweep, workers, output, progress) as found:
        left = iter(found)
        yield {key: [next(left) for _ in of_key] for key, of_key in keyed.items()}
