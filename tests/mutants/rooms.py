"""The rooms that `./run mutants` knows."""

from __future__ import annotations

from tests.mutants.python_room import PythonRoom
from tests.mutants.room import Room

_SCHEMES = ("tests/te_solver/*schemes/test_*.py",)

ROOMS: tuple[Room, ...] = (
    PythonRoom("programs", ("te_solver/programs/*.py",), ("tests/te_solver/programs/test_*.py",)),
    PythonRoom("paths", ("te_solver/*.py",), ("tests/te_solver/test_*.py",)),
    PythonRoom("schemes", ("te_solver/schemes/*.py", "te_solver/failure_schemes/*.py"), _SCHEMES),
    PythonRoom("fluid", ("simulator/flow/*.py",), ("tests/simulator/flow/test_*.py",)),
    PythonRoom("tables", ("kuijia_app/tables/*.py",), ("tests/kuijia_app/tables/test_*.py",)),
    PythonRoom("proof", ("kuijia_app/proof/**/*.py",), ("tests/kuijia_app/proof/**/test_*.py",)),
    PythonRoom("control", ("kuijia_app/control/*.py",), ("tests/kuijia_app/control/test_*.py",)),
    PythonRoom("hedera", ("hedera/**/*.py",), ("tests/hedera/test_*.py",)),
)
