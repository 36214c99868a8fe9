"""Runs an application on os-ken, which has no launcher."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn

from kuijia_app.framework.ending import end_process
from kuijia_app.framework.listening import require_free, require_usable
from kuijia_app.framework.tls import TlsFiles
from kuijia_base.additions import UnfitSystemError
from kuijia_base.log_lines import DEFAULT_FORM, DEFAULT_LEVEL, part_logger, set_up_logs

_NEEDED = ("SIGHUP", "SIGUSR1", "SIGUSR2")
"""The signals that applications handle."""

if sys.platform == "win32" or not all(hasattr(signal, name) for name in _NEEDED):
    raise UnfitSystemError(f"controllers need the signals {', '.join(_NEEDED)}, which this system lacks")

_LOG = part_logger("launcher")

_HANDLED = tuple(getattr(signal, name) for name in _NEEDED)


def run_application(
    application: str,
    listen_host: str,
    listen_port: int,
    options: Mapping[str, object],
    tls: TlsFiles | None = None,
) -> NoReturn:
    """Serve switches until the process is ended.

    `application` is the name of a module, such as `kuijia_app.controller`; `options` are those of the section that its
    OPTION_GROUP names. With `tls`, switches connect by TLS only. Call this in the main thread. An interrupt
    (SIGINT) ends the process at once: the framework cannot end its threads, which would keep the process alive.

    If the framework stops listening or cannot start, the process exits with
    `kuijia_app.framework.ending.EXIT_STATUS`, for the same reason.

    Raises:
        InputError: listening on the address is not possible, or the files are not a key and certificates.
    """
    # Verbs show their help without os-ken, which an extra installs.
    from os_ken import cfg  # noqa: PLC0415  # see above
    from os_ken.base.app_manager import AppManager  # noqa: PLC0415  # see above
    from os_ken.lib import hub  # noqa: PLC0415  # see above

    require_free(listen_host, listen_port)  # the framework listens in a thread whose failure nobody sees
    set_up_logs(str(options.get("log_level", DEFAULT_LEVEL)), str(options.get("log_format", DEFAULT_FORM)))
    group = import_module(application).OPTION_GROUP  # the import also registers the options
    words = [f"--ofp-listen-host={listen_host}", f"--ofp-tcp-listen-port={listen_port}"]
    if tls is not None:
        require_usable(tls)
        words = [words[0], f"--ofp-ssl-listen-port={listen_port}"]
        words += [f"--ctl-privkey={tls.key}", f"--ctl-cert={tls.certificate}", f"--ca-certs={tls.ca}"]
    cfg.CONF(words, project="kuijia", default_config_files=[])
    for name, value in options.items():
        cfg.CONF.set_override(name, value, group=group)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # before any thread starts that would outlive this one
    manager = AppManager.get_instance()
    # Only the main thread can handle a signal, and it would not wake up for one that another thread has received. What
    # is blocked here is so in all threads that are started now or by those.
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    manager.load_apps([application])
    try:
        services = manager.instantiate_apps(**manager.create_contexts())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        hub.joinall(services)
    except SystemExit:  # an application refuses its options, before there are threads
        raise
    except BaseException:  # noqa: BLE001
        end_process(lambda: _LOG.critical("%s cannot go on", application, exc_info=True))
    end_process(lambda: _LOG.critical("%s:%d: the framework has stopped listening", listen_host, listen_port))
