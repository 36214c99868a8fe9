"""The folders of a clone that are installed inside the package `kuijia`, found under the same names in the clone."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

ROOMS = ("experiments", "hedera", "simulator", "te_solver", "testbed")


def find_rooms_of_clone() -> None:
    """Let `import kuijia.te_solver` find the folder `te_solver` next to this package, if it is there and not inside."""
    here = os.path.dirname(__file__)  # noqa: PTH120  # pathlib is slow to import
    if os.access(f"{here}/../{ROOMS[0]}", os.F_OK) and not os.access(f"{here}/{ROOMS[0]}", os.F_OK):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds `kuijia.te_solver.model` as `te_solver.model`: a module has two names, never two copies."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        package, _, own = name.partition(".")
        if package != "kuijia" or own.partition(".")[0] not in ROOMS:
            return None
        return ModuleSpec(name, _Loader(import_module(own)))  # type: ignore[arg-type]  # importlib.abc is slow to import


class _Loader:
    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002  # the interface of loaders
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own description back, which the import has replaced."""
        module.__spec__ = self._spec
