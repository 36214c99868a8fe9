"""Sets up the gate from the framework's options, in place of the framework's own listening."""

from __future__ import annotations

import dataclasses
import os
import resource
import ssl
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

from kuijia_app.framework.followed_tls import FollowedTls, Passphrase
from kuijia_app.framework.guarded_app import GuardedApp
from kuijia_app.framework.listening import address_of, cannot_listen
from kuijia_app.framework.seam import cfg, replace_listening
from kuijia_app.gate.application import application_of
from kuijia_app.gate.binding import Binding, load_binding
from kuijia_app.gate.channels import server_context
from kuijia_app.gate.limits import LIMITS, Limits
from kuijia_app.gate.loop import Loop, listen
from kuijia_app.gate.reception import HeldConnections
from kuijia_base.errors import InputError

DEFAULT_PORTS: Final = (6653, 6633)
"""The ports of OpenFlow, new and old, on which the frameworks listen by default."""

_MOST_DESCRIPTORS: Final = 65_536
"""Descriptors that the process gives itself, if it may."""

_SHARE_OF_DESCRIPTORS: Final = 12
"""Each of the three groups of half-open connections may use one in so many of the process's descriptors."""


def stand_before(
    app: GuardedApp,
    is_known: Callable[[int], bool],
    tls_bind: str | None,
    *,
    packets_of: Collection[int] = (),
    removals_of: int | None = None,
) -> None:
    """Admit switches to `app` only through the gate; call this before the framework starts to listen.

    `is_known` returns True if the application has a switch with a datapath id. `tls_bind` is the path of a file for
    `load_binding`. Packets that switches send to the controller are dropped but for those that entries with the
    cookies `packets_of` send, and reports of removed entries but for those with the cookie `removals_of`.

    Raises:
        InputError: the file cannot be used, or switches do not connect by TLS.
    """
    binding = None if not tls_bind else _binding(Path(tls_bind))
    application = application_of(app, is_known, binding, packets_of=packets_of, removals_of=removals_of)

    def listening() -> Loop:
        options = cfg.CONF
        limits = _within_descriptors(LIMITS)
        now = time.monotonic()
        interval, unanswered = options.echo_request_interval, options.maximum_unreplied_echo_requests
        reception = HeldConnections(application, now, interval, unanswered, limits)
        try:
            return Loop(_listening_sockets(), reception, _tls(), limits, app.gate_turned, app.gate_failed)
        except InputError as error:
            # The frameworks would print a traceback.
            print(f"error: {error}", file=sys.stderr)  # noqa: T201
            os._exit(InputError.exit_status)  # the application's threads would outlive this one

    replace_listening(listening)


def _binding(path: Path) -> Binding:
    if not _uses_tls():
        raise InputError("option", "tls_bind", "switches do not connect by TLS", "a key and certificates besides")
    return load_binding(path)


def _uses_tls() -> bool:
    return cfg.CONF.ctl_privkey is not None and cfg.CONF.ctl_cert is not None


def _listening_sockets() -> list[Any]:
    options = cfg.CONF
    if options.ofp_switch_address_list:
        problem = "the controller connects to no switches"
        raise InputError("[DEFAULT]", "ofp_switch_address_list", problem, "switches that connect to it")
    asked_for = options.ofp_ssl_listen_port if _uses_tls() else options.ofp_tcp_listen_port
    ports = (asked_for,) if asked_for else DEFAULT_PORTS
    sockets = []
    for port in ports:
        family, address = address_of(options.ofp_listen_host, port)
        try:
            sockets.append(listen(family, address))
        except OSError as error:
            raise cannot_listen(options.ofp_listen_host, port, error) from error
    return sockets


def _tls() -> FollowedTls | None:
    options = cfg.CONF
    if not _uses_tls():
        return None
    files = options.ctl_privkey, options.ctl_cert, options.ca_certs

    def make(passphrase: Passphrase | None) -> ssl.SSLContext:
        ciphers = getattr(options, "ciphers", None)  # Ryu 4.34 has no such option, c65ryu and os-ken have
        return server_context(*files, ciphers, passphrase)

    try:
        return FollowedTls([file for file in files if file is not None], make)
    except OSError as error:
        problem = f"not usable for TLS: {error}"
        raise InputError(
            "[DEFAULT]", "ctl_cert", problem, "a key, its certificate and those of the authority"
        ) from error


def _within_descriptors(limits: Limits) -> Limits:
    """Return the limits, with fewer half-open connections if the process may have few descriptors."""
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return limits
    allowed = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if most < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        most = allowed
    share = max(most // _SHARE_OF_DESCRIPTORS, 1)
    return dataclasses.replace(
        limits,
        half_open=min(limits.half_open, share),
        half_open_of_address=min(limits.half_open_of_address, max(share // 2, 1)),
    )
