"""Errors that go from one process to another."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import kuijia
from kuijia.api.lab import LabError
from kuijia_base.additions import MissingPackageError
from kuijia_base.errors import InputError, KuijiaError, UnsoundError
from kuijia_base.options import bad_option
from kuijia_base.sweep.sweep import CaseError

ERRORS = [
    InputError("plan.json", "pairs[0]", "is empty", "a tunnel"),
    UnsoundError(("pairs", 0), "is empty", "a tunnel"),
    bad_option("threads", "is 0", "1 or more"),
    LabError("no such link", 404, ("a loop",)),
    MissingPackageError("matplotlib"),
    CaseError("case 3 failed", 2),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_whole_in_another_process(error: KuijiaError | UnsoundError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert (type(copy), str(copy), copy.args) == (type(error), str(error), error.args)
    assert vars(copy) == vars(error)


def test_a_pool_of_processes_raises_what_an_answer_was_refused_for() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        refused = pool.submit(kuijia.packet, "leaf-spine:2,2,2", sizes="web-search", load=0.5, flows=-1)
        with pytest.raises(InputError, match="flows"):
            refused.result()
