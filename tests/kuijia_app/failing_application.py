"""An application under either framework with one of its parts made to raise or to hang, once a file exists.

    python -m tests.kuijia_app.failing_application RAISE|HANG MODULE:CLASS.METHOD FILE COMMAND...

COMMAND is what runs it otherwise: `ryu-manager` and its arguments, or `python -m kuijia` and its own.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

OUTCRY = "this was made to fail"


def sabotage(manner: str, method: str, trigger: Path) -> None:
    """Replace the method, which keeps what decorators have noted of it."""
    module, _, name = method.partition(":")
    class_name, _, method_name = name.partition(".")
    owner = getattr(importlib.import_module(module), class_name)
    works: Callable[..., Any] = getattr(owner, method_name)
    seam = importlib.import_module("kuijia_app.framework.seam")

    @functools.wraps(works)
    def fails(*arguments: object) -> object:
        if not trigger.exists():
            return works(*arguments)
        if manner == "HANG":
            seam.native_time.sleep(600)
        raise ArithmeticError(OUTCRY)

    setattr(owner, method_name, fails)


def run(arguments: Sequence[str]) -> int | None:
    """Do what the arguments of this program say."""
    manner, method, trigger, *command = arguments
    if "ryu-manager" in command[0]:
        main, options = importlib.import_module("ryu.cmd.manager").main, command[1:]
    else:
        importlib.import_module("os_ken.base.app_manager")  # other modules of os-ken need it to have been imported
        main, options = importlib.import_module("kuijia.cli.main").main, command[3:]
    sabotage(manner, method, Path(trigger))
    sys.argv = [command[0], *options]
    status: int | None = main(options)
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
