"""The rooms that `./run mutants` knows."""

from __future__ import annotations

from tests.mutants.core_rooms import CORE_ROOMS
from tests.mutants.python_room import PythonRoom
from tests.mutants.room import Room

_SCHEMES = ("tests/te_solver/schemes/test_*.py", "tests/plugins/test_*.py")
_PATHS = ("te_solver/tunnels/*.py", "te_solver/model/connectivity.py")

ROOMS: tuple[Room, ...] = (
    PythonRoom(
        "programs",
        ("te_solver/programs/*.py", "te_solver/model/exposure.py"),
        ("tests/te_solver/programs/test_*.py", "tests/te_solver/model/test_exposure.py"),
    ),
    PythonRoom("paths", _PATHS, ("tests/te_solver/tunnels/test_*.py", "tests/te_solver/model/test_*.py")),
    PythonRoom("schemes", ("te_solver/schemes/**/*.py",), _SCHEMES),
    PythonRoom("fluid", ("simulator/flow/*.py",), ("tests/simulator/flow/test_*.py",)),
    PythonRoom("tables", ("kuijia_app/tables/*.py",), ("tests/kuijia_app/tables/test_*.py",)),
    PythonRoom("proof", ("kuijia_app/proof/**/*.py",), ("tests/kuijia_app/proof/**/test_*.py",)),
    PythonRoom("control", ("kuijia_app/control/*.py",), ("tests/kuijia_app/control/test_*.py",)),
    PythonRoom("hedera", ("hedera/**/*.py",), ("tests/hedera/test_*.py",)),
    *CORE_ROOMS,
)
