"""The rooms that `./run mutants` knows."""

from __future__ import annotations

from tests.mutants.core_rooms import CORE_ROOMS
from tests.mutants.python_room import PythonRoom
from tests.mutants.room import Room

_SOLVER = ("tests/te_solver/test_*.py", "tests/te_solver/programs/test_*.py", "tests/te_solver/model/test_*.py")
_SCHEMES = ("tests/te_solver/schemes/test_*.py", "tests/plugins/test_*.py")
_CONTROLLER = ("tests/kuijia_app/test_*.py", "tests/kuijia_app/tables/test_*.py", "tests/kuijia_app/proof/**/test_*.py")
_PATHS = ("te_solver/tunnels/*.py", "te_solver/model/connectivity.py")

ROOMS: tuple[Room, ...] = (
    PythonRoom(
        "programs",
        ("te_solver/programs/*.py", "te_solver/model/exposure.py"),
        (*_SOLVER, *_SCHEMES),
    ),
    PythonRoom("paths", _PATHS, ("tests/te_solver/tunnels/test_*.py", *_SOLVER, "tests/plugins/test_*.py")),
    PythonRoom("schemes", ("te_solver/schemes/**/*.py",), (*_SCHEMES, "tests/simulator/flow/test_*.py")),
    PythonRoom(
        "fluid",
        ("simulator/flow/*.py",),
        ("tests/simulator/flow*/test_*.py", "tests/simulator/studies/whatif/test_*.py"),
    ),
    PythonRoom("tables", ("kuijia_app/tables/*.py",), (*_CONTROLLER, "tests/kuijia_app/preparation/test_*.py")),
    PythonRoom("proof", ("kuijia_app/proof/**/*.py",), _CONTROLLER),
    PythonRoom(
        "control",
        ("kuijia_app/control/*.py",),
        ("tests/kuijia_app/control/test_*.py", "tests/kuijia_app/rehearsal/test_*.py", *_CONTROLLER),
    ),
    PythonRoom("hedera", ("hedera/**/*.py",), ("tests/hedera/test_*.py",)),
    *CORE_ROOMS,
)
