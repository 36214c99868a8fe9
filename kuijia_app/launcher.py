"""Runs an application on os-ken, which comes without a launcher of its own."""

from __future__ import annotations

import logging
import signal
import socket
import ssl
from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn

from os_ken import cfg
from os_ken.base.app_manager import AppManager
from os_ken.lib import hub

from kuijia_app.tls import TlsFiles
from te_solver.errors import InputError, KuijiaError

_HANDLED = (signal.SIGHUP, signal.SIGUSR1)
"""The signals that applications handle."""


def run_application(
    application: str,
    listen_host: str,
    listen_port: int,
    options: Mapping[str, object],
    tls: TlsFiles | None = None,
) -> NoReturn:
    """Serve switches until the process is ended.

    `application` is the name of a module, such as `kuijia_app.controller`; `options` are those of the section that its
    OPTION_GROUP names. With `tls`, switches connect by TLS alone. To be called in the main thread. An interrupt
    (SIGINT) ends the process at once: the framework has no way to end its threads, which would keep it alive.

    Raises:
        InputError: the address cannot be listened on, or the files are no key and certificates.
        KuijiaError: the framework has stopped listening.
    """
    _require_free(listen_host, listen_port)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("os_ken").setLevel(logging.WARNING)
    group = import_module(application).OPTION_GROUP  # which also registers the options
    words = [f"--ofp-listen-host={listen_host}", f"--ofp-tcp-listen-port={listen_port}"]
    if tls is not None:
        _require_usable(tls)
        words = [words[0], f"--ofp-ssl-listen-port={listen_port}"]
        words += [f"--ctl-privkey={tls.key}", f"--ctl-cert={tls.certificate}", f"--ca-certs={tls.ca}"]
    cfg.CONF(words, project="kuijia", default_config_files=[])
    for name, value in options.items():
        cfg.CONF.set_override(name, value, group=group)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # before there are threads that would outlive this one
    manager = AppManager.get_instance()
    # Only the main thread can handle a signal, and it would not wake up for one that another thread has taken. What
    # is blocked here is so in all threads that are started now or by those.
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    manager.load_apps([application])
    contexts = manager.create_contexts()
    services = manager.instantiate_apps(**contexts)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    hub.joinall(services)
    manager.close()
    raise KuijiaError(f"{listen_host}:{listen_port}: the controller has stopped listening")


def _require_usable(tls: TlsFiles) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key)
    except OSError as error:  # SSLError is one
        raise InputError(tls.certificate, "", f"not usable with the key {tls.key}: {error}", "a pair in PEM") from error
    try:
        context.load_verify_locations(tls.ca)
    except OSError as error:
        raise InputError(tls.ca, "", f"not usable: {error}", "certificates in PEM") from error


def _require_free(host: str, port: int) -> None:
    """The framework listens in a thread whose failure nobody sees: try the address first."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(f"{host}:{port}", "", f"cannot listen: {error.strerror}", "a free port") from error
