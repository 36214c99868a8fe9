"""Reads the state of switches and changes it: `ovs-vsctl` at their databases, `ip` and `tc` on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kuijia_app.framework.tls import TlsFiles
from kuijia_app.preparation.changes import Change, QueueCompletion, RunProgram, SendBuffers, Words
from kuijia_app.preparation.completion import complete_queues
from kuijia_app.preparation.examination import (
    Lack,
    Reached,
    Wanted,
    examine,
    missing_bridge,
    reached,
    restoring_all,
)
from kuijia_app.preparation.facts import DatabaseFacts, DeviceFacts, list_arguments, parse_database, parse_devices
from kuijia_app.preparation.send_buffer import HARMLESS_FRAME, enlarge_send_buffers, send_buffer_of
from kuijia_app.tables.needs import SwitchNeeds
from kuijia_app.tables.wiring_file import DATABASE_EXPECTED, is_database_address
from kuijia_base.commands import run_command
from kuijia_base.errors import InputError, TestbedError, quoted

DEFAULT_ADDRESS = "unix:/run/openvswitch/db.sock"
"""Database of Debian's package openvswitch-switch."""

_SECONDS = 20
_AT_ONCE = 16
"""Databases that are read at a time."""
_DEFAULT_SEND_BUFFER = Path("/proc/sys/net/core/wmem_default")
_ROUNDS = 3


@dataclass(frozen=True)
class Databases:
    """The databases of switches: one for all but those that have an address of their own; `tls` is for `ssl:`.

    Raises:
        InputError: an address has another form, or needs files for TLS.
    """

    address: str = DEFAULT_ADDRESS
    own: Mapping[str, str] | None = None
    tls: TlsFiles | None = None

    def __post_init__(self) -> None:
        for address in {self.address, *(self.own or {}).values()}:
            require_address(address)
            if address.startswith("ssl:") and self.tls is None:
                raise InputError("option", "--tls-key", "is missing", f"key, certificate and authority for {address}")

    def of(self, switch: str) -> str:
        return (self.own or {}).get(switch, self.address)

    def vsctl(self, address: str) -> Words:
        """Return the words of `ovs-vsctl` for an address."""
        files: tuple[str, ...] = ()
        if self.tls is not None and address.startswith("ssl:"):
            named = {"--private-key": self.tls.key, "--certificate": self.tls.certificate, "--ca-cert": self.tls.ca}
            files = tuple(f"{option}={file}" for option, file in named.items())
        return ("ovs-vsctl", f"--db={address}", f"--timeout={_SECONDS}", *files)


def require_address(address: str) -> None:
    """Raise InputError for an address of a database in another form."""
    if not is_database_address(address):
        raise InputError("address of a database", "", quoted(address), DATABASE_EXPECTED)


def survey(needs: Mapping[str, SwitchNeeds], databases: Databases, *, with_queues: bool = True) -> list[Reached]:
    """Return the switches as they are; `with_queues` examines the queues of their devices, which takes longer.

    Raises:
        TestbedError: no database answers, or a program of this machine does not; the message is one line.
    """
    found: list[Reached] = []
    addresses = list(dict.fromkeys(map(databases.of, needs)))
    with ThreadPoolExecutor(_AT_ONCE) as readers:  # a silent one takes its time
        read = dict(zip(addresses, readers.map(partial(_read_database, databases), addresses), strict=True))
    failures = [each for each in read.values() if isinstance(each, TestbedError)]
    if failures and len(failures) == len(read):
        raise failures[0]
    for name, each in needs.items():
        address = databases.of(name)
        its, vsctl = read[address], databases.vsctl(address)
        if isinstance(its, TestbedError):
            found.append(Reached(each, address, vsctl, None, frozenset(), silence=str(its)))
        else:
            found.append(reached(each, its, address, vsctl))
    local = [switch for switch in found if switch.address.startswith("unix:") and switch.bridge is not None]
    ports = [port.name for switch in local if switch.bridge for port in switch.bridge.ports.values()]
    devices = read_devices(ports if with_queues else ())
    return [_with_machine(switch, devices) if switch in local else switch for switch in found]


def _read_database(databases: Databases, address: str) -> DatabaseFacts | TestbedError:
    try:
        return parse_database(_run((*databases.vsctl(address), *list_arguments()), address), address)
    except TestbedError as error:
        return error


def require_bridges(switches: Iterable[Reached]) -> None:
    """Raise TestbedError for the first switch whose database does not answer, or has no bridge for it."""
    for switch in switches:
        if switch.silence:
            raise TestbedError(f"{switch.needs.switch}: {switch.silence}")
        if switch.bridge is None:
            raise TestbedError(str(missing_bridge(switch)))


def _with_machine(switch: Reached, devices: Mapping[str, DeviceFacts]) -> Reached:
    directory = Path(switch.address.removeprefix("unix:")).parent
    assert switch.bridge is not None
    buffer = _send_buffer(directory) if switch.bridge.is_userspace else None
    return replace(switch, devices=devices, directory=str(directory), send_buffer=buffer)


def _send_buffer(directory: Path) -> int | None:
    try:
        return send_buffer_of(_daemon(directory))
    except TestbedError:
        return None  # it is named as missing, and the reason is given when it is to be enlarged


def _daemon(directory: Path) -> int:
    """Return the process of the forwarding daemon."""
    path = directory / "ovs-vswitchd.pid"
    try:
        return int(path.read_text())
    except (OSError, ValueError) as error:
        raise TestbedError(f"{path} names no process of ovs-vswitchd") from error


def read_devices(interfaces: Iterable[str]) -> dict[str, DeviceFacts]:
    """Return all network devices of this namespace, with the classes and filters of some."""
    links = _run(("ip", "-json", "-details", "link", "show"), "ip")
    plain = parse_devices(links, "[]", {}, {})
    qdiscs = _run(("tc", "-json", "qdisc", "show"), "tc")
    there = [name for name in interfaces if name in plain]
    classes = {name: _run(("tc", "class", "show", "dev", name), "tc") for name in there}
    filters = {name: _run(("tc", "filter", "show", "dev", name), "tc") for name in there}
    return parse_devices(links, qdiscs, classes, filters)


def lacks_of(switches: Iterable[Reached], wanted: Wanted) -> list[Lack]:
    """Return everything that switches lack; a daemon with several of them is named once."""
    found: dict[tuple[object, ...], Lack] = {}
    for switch in switches:
        for lack in examine(switch, wanted):
            buffers = [each.directory for each in lack.changes if isinstance(each, SendBuffers)]
            found.setdefault((*buffers,) or (lack,), lack)
    return list(found.values())


def prepare(
    needs: Mapping[str, SwitchNeeds], databases: Databases, wanted: Wanted, report: Callable[[str], None]
) -> list[Lack]:
    """Supply what switches lack; return what is still missing.

    Raises:
        TestbedError: no database answers, or this machine does not. What has been changed by then can be restored.
    """
    lacks = lacks_of(survey(needs, databases), wanted)
    for _ in range(_ROUNDS):
        if not any(lack.changes for lack in lacks):
            break
        for lack in lacks:
            if not lack.changes:
                continue
            try:
                make(lack.changes)
            except TestbedError as error:
                report(f"{lack.switch} {lack.port}: {error}")
        before, lacks = lacks, lacks_of(survey(needs, databases), wanted)
        if lacks == before:
            break
    return lacks


def restore(needs: Mapping[str, SwitchNeeds], databases: Databases) -> int:
    """Restore switches to their state before they were prepared; return the number of changes.

    Raises:
        TestbedError: a change failed, or the database of a switch does not answer or has no bridge for it, which others
            did not wait for; repeated, this continues with the rest.
    """
    found = survey(needs, databases)
    changes = restoring_all(found)
    make(changes)
    require_bridges(found)
    return len(changes)


def make(changes: Sequence[Change]) -> None:
    """Make changes in their order; raises TestbedError at the first that fails."""
    for change in changes:
        match change:
            case RunProgram(argv):
                _run(argv, argv[1].removeprefix("--db=") if argv[0] == "ovs-vsctl" else argv[0])
            case QueueCompletion(clearing, building):
                complete_queues([list(words) for words in clearing], [list(words) for words in building])
            case SendBuffers():
                _set_send_buffers(change)


def _set_send_buffers(change: SendBuffers) -> None:
    directory = Path(change.directory)
    packet_out = f"in_port=controller packet={HARMLESS_FRAME} actions=output:{change.port}"
    target = f"unix:{directory / f'{change.bridge}.mgmt'}"
    options = ("-O", "OpenFlow13", f"--timeout={_SECONDS}")
    _run(("ovs-ofctl", *options, "packet-out", target, packet_out), change.bridge)
    size = int(_DEFAULT_SEND_BUFFER.read_text()) if change.size is None else change.size
    enlarge_send_buffers(_daemon(directory), size)


def _run(argv: Words, partner: str) -> str:
    """Run a program; failures name the partner, not the command with all its words."""
    try:
        return run_command(argv)
    except TestbedError as error:
        reason = str(error).rpartition("` failed: ")[2].removeprefix(f"{argv[0]}: ").removeprefix(f"{partner}: ")
        if "Alarm clock" in reason:
            reason = f"no answer within {_SECONDS} s: does ovs-vswitchd run?"
        raise TestbedError(f"{partner}: {reason}") from error
