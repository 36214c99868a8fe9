"""The one place that chooses the controller framework: Ryu if `ryu-manager` loads the application, else os-ken.

Both have the same classes under different package names. `ryu-manager` has imported Ryu's application manager before
it loads an application; nothing in this project imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any, TypeVar

FRAMEWORK = "ryu" if "ryu.base.app_manager" in sys.modules else "os-ken"

_PACKAGE, _BASE_CLASS = {"ryu": ("ryu", "RyuApp"), "os-ken": ("os_ken", "OSKenApp")}[FRAMEWORK]

cfg: Any = import_module(f"{_PACKAGE}.cfg")
handler: Any = import_module(f"{_PACKAGE}.controller.handler")
ofp_event: Any = import_module(f"{_PACKAGE}.controller.ofp_event")
ofproto: Any = import_module(f"{_PACKAGE}.ofproto.ofproto_v1_3")
hub: Any = import_module(f"{_PACKAGE}.lib.hub")
EventBase: Any = import_module(f"{_PACKAGE}.controller.event").EventBase
BaseApp: Any = getattr(import_module(f"{_PACKAGE}.base.app_manager"), _BASE_CLASS)

app_manager: Any = import_module(f"{_PACKAGE}.base.app_manager")

# Registers the options on listening and on connections; must be imported after the application manager.
controller: Any = import_module(f"{_PACKAGE}.controller.controller")

parse_message: Any = import_module(f"{_PACKAGE}.ofproto.ofproto_v1_3_parser").msg_parser
"""Makes an object of a message of OpenFlow 1.3, whose lengths it trusts."""


def replace_listening(listening: Callable[[], Callable[[], None]]) -> None:
    """Make the framework create and call `listening()` instead of its own loop that accepts connections."""
    ofp_handler: Any = import_module(f"{_PACKAGE}.controller.ofp_handler")
    ofp_handler.OpenFlowController = listening


def wait_readable(descriptor: int, timeout: float) -> None:
    """Let other green threads, which only Ryu has, run until a descriptor is readable or `timeout` seconds are over."""
    try:
        import_module("eventlet.hubs").trampoline(descriptor, read=True, timeout=timeout, timeout_exc=TimeoutError)
    except TimeoutError:
        return


def unpatched(module: str) -> Any:
    """Return a module of the standard library without eventlet's patches."""
    return import_module("eventlet.patcher").original(module) if SHARES_ONE_THREAD else import_module(module)


SHARES_ONE_THREAD = FRAMEWORK == "ryu"
"""True if an application has only green threads of eventlet, in one thread of the operating system."""


_Result = TypeVar("_Result")


def apart(work: Callable[[], _Result]) -> _Result:
    """Return what `work` returns, while other threads go on, green ones too, which only Ryu has.

    `work` may not write to logs: green threads hold the locks of loggers.
    """
    if not SHARES_ONE_THREAD:
        return work()
    result: _Result = import_module("eventlet.tpool").execute(work)
    return result


native_threading: Any = unpatched("threading")
native_time: Any = unpatched("time")

Event: Callable[[], Any] = hub.Event if SHARES_ONE_THREAD else native_threading.Event
"""Makes an event with `set`, `clear` and `wait`; os-ken's own has no time-outs without eventlet."""

_Handler = TypeVar("_Handler", bound=Callable[..., None])


class Harm(Enum):
    """Part that a handler may leave inconsistent if it raises."""

    CONNECTION = "connection"
    APPLICATION = "application"


def on(event: Any, *phases: str, harms: Harm = Harm.APPLICATION) -> Callable[[_Handler], _Handler]:
    """Mark a method of the application as the handler of `event` while a switch is in one of `phases`.

    `harms` decides what `GuardedApp` gives up if the method raises: CONNECTION only if the method changes nothing
    but the state of that connection.
    """
    decorator: Callable[[_Handler], _Handler] = handler.set_ev_cls(event, list(phases))

    def mark(method: _Handler) -> _Handler:
        vars(method)["harms"] = harms
        return decorator(method)

    return mark


def on_own(event: Any) -> Callable[[_Handler], _Handler]:
    """Mark a method as the handler of an event that the application sends to itself."""
    decorator: Callable[[_Handler], _Handler] = handler.set_ev_handler(event)
    return decorator
