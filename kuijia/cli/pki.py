"""`kuijia pki`: an authority of one's own, and the certificates of controllers, switches and the live lab."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kuijia.cli.parsers import add_common_options
from kuijia.cli.printing import print_json, show
from kuijia_app.framework.certificate_expiry import WARNING_DAYS
from kuijia_app.framework.certificate_names import datapath_name
from kuijia_app.pki.holders import AUTHORITY_FILE, CertificateKind, Holder, require_address, require_name
from kuijia_app.tables.wiring_file import DATAPATH_EXPECTED, parse_datapath_id
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError, KuijiaError, UnsoundError, quoted, shown
from kuijia_base.option_values import whole_number
from kuijia_base.text_table import TextTable

if TYPE_CHECKING:
    from kuijia_app.pki.folder import Entry, Folder

DEFAULT_FOLDER = Path("pki")
DAYS, DAYS_OF_AUTHORITY, MOST_DAYS = 365, 3650, 36500
LOCAL = ("localhost", "127.0.0.1", "::1")
"""Addresses of a server without others: only this machine reaches it."""

_LONGEST_TITLE = 64
"""Characters of a common name."""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    authority = _action(actions, "authority", "make the authority, which signs all others", _authority)
    authority.add_argument("--name", type=_title, default="Kuijia authority", help="its name (default: %(default)s)")
    _add_days(authority, DAYS_OF_AUTHORITY)

    controller = _action(actions, "controller", "make a certificate for a controller and its peers", _holder)
    _add_name(controller, CertificateKind.CONTROLLER)
    _add_addresses(controller)

    switch = _action(actions, "switch", "make a certificate for a switch, bound to its datapath ids", _holder)
    _add_name(switch, CertificateKind.SWITCH)
    switch.add_argument(
        "datapath_ids", nargs="+", type=_datapath_id, metavar="DATAPATH-ID", help="ids of the bridges of the switch"
    )

    web = _action(actions, "web", "make a certificate for the server of `kuijia lab web`", _holder)
    _add_name(web, CertificateKind.WEB)
    _add_addresses(web)
    for action in (controller, switch, web):
        _add_days(action, DAYS)
    for action in (authority, controller, switch, web):
        action.add_argument("--force", action="store_true", help="replace existing files")

    _action(actions, "list", "show all certificates and when they expire", _list)

    status = _action(actions, "status", "list certificates that expire soon; exit status 1 if any do", _expiring)
    status.add_argument(
        "--within",
        type=_days,
        default=WARNING_DAYS,
        metavar="DAYS",
        help="list those that expire within this many days (default: %(default)s)",
    )

    renew = _action(actions, "renew", "replace certificates with ones valid for longer", _renew)
    renew.add_argument("names", nargs="*", metavar="NAME", help=f"holders, or `{AUTHORITY_FILE}` for the authority")
    renew.add_argument(
        "--within",
        type=_days,
        metavar="DAYS",
        help="renew only those that expire within this many days; without NAME, of all",
    )
    renew.add_argument("--new-key", action="store_true", help="make new private keys as well")
    renew.add_argument(
        "--days", type=_days, help=f"validity (default: {DAYS}, for the authority {DAYS_OF_AUTHORITY} days)"
    )


def run(args: argparse.Namespace) -> int:
    require_installed("cryptography", "certificates")
    from kuijia_app.pki.folder import Folder  # noqa: PLC0415  # an extra has what it needs

    entries = args.act(Folder(args.folder), args)
    if args.json:
        print_json("pki", {"certificates": [_as_json(entry) for entry in entries]})
    elif entries:
        show([_table(entries)])
    elif args.act is _expiring:
        print(f"none expires within {args.within} days")
    else:
        print("nothing to renew")
    return KuijiaError.exit_status if args.act is _expiring and entries else 0


def _authority(folder: Folder, args: argparse.Namespace) -> Sequence[Entry]:
    return [folder.make_authority(args.name, args.days, force=args.force)]


def _holder(folder: Folder, args: argparse.Namespace) -> Sequence[Entry]:
    if args.kind is CertificateKind.SWITCH:
        holder = Holder(args.name, args.kind, datapath_ids=tuple(sorted(set(args.datapath_ids))))
    else:
        holder = Holder(args.name, args.kind, tuple(dict.fromkeys(args.addresses or LOCAL)))
    return [folder.make(holder, args.days, force=args.force)]


def _list(folder: Folder, _args: argparse.Namespace) -> Sequence[Entry]:
    return folder.entries()


def _expiring(folder: Folder, args: argparse.Namespace) -> Sequence[Entry]:
    end = datetime.now(timezone.utc) + timedelta(days=args.within)
    return [entry for entry in folder.entries() if entry.until <= end]


def _renew(folder: Folder, args: argparse.Namespace) -> Sequence[Entry]:
    if not args.names and args.within is None:
        raise InputError("pki renew", "", "no certificate is named", "NAME, --within DAYS, or both")
    for name in args.names:
        if name != AUTHORITY_FILE:
            _checked(name, require_name)
    files = args.names if args.within is None else folder.expiring(args.names, args.within)
    if not files:
        return []
    return folder.renew(files, args.days or DAYS, args.days or DAYS_OF_AUTHORITY, new_keys=args.new_key)


def _action(
    actions: Any,  # noqa: ANN401  # argparse has no public name for it
    name: str,
    about: str,
    act: Callable[[Folder, argparse.Namespace], Sequence[Entry]],
) -> argparse.ArgumentParser:
    action: argparse.ArgumentParser = actions.add_parser(name, help=about)
    action.add_argument(
        "-d", "--folder", type=Path, default=DEFAULT_FOLDER, metavar="DIR", help="their folder (default: %(default)s)"
    )
    action.set_defaults(act=act)
    add_common_options(action, below_another=True)
    return action


def _add_name(parser: argparse.ArgumentParser, kind: CertificateKind) -> None:
    parser.add_argument("name", type=_name, metavar="NAME", help="name of its files and in its certificate")
    parser.set_defaults(kind=kind)


def _add_addresses(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "addresses",
        nargs="*",
        type=_address,
        metavar="ADDRESS",
        help=f"addresses and names by which others reach it (default: {' '.join(LOCAL)})",
    )


def _add_days(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument("--days", type=_days, default=default, help="validity (default: %(default)s days)")


_days = whole_number(1, MOST_DAYS, of=" days")


def _name(text: str) -> str:
    return _argument(text, require_name)


def _address(text: str) -> str:
    return _argument(text, require_address)


def _title(text: str) -> str:
    if not text.isprintable() or not text.strip() or len(text) > _LONGEST_TITLE:
        expected = f"at most {_LONGEST_TITLE} printable characters"
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {expected}")
    return text


def _datapath_id(text: str) -> int:
    found = parse_datapath_id(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {DATAPATH_EXPECTED}")
    return found


def _argument(text: str, require: Callable[[str], str]) -> str:
    try:
        return require(text)
    except UnsoundError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _checked(text: str, require: Callable[[str], str]) -> str:
    try:
        return require(text)
    except UnsoundError as error:
        raise InputError("pki renew", "NAME", error.problem, error.expected) from error


def _table(entries: Sequence[Entry]) -> TextTable:
    headings = ("name", "for", "names", "expires", "days left")
    now = datetime.now(timezone.utc)
    rows = [
        (
            shown(entry.file),
            entry.holder.kind.value if entry.is_ours else f"{entry.holder.kind.value}, of another authority",
            _names(entry.holder),
            entry.until.date().isoformat(),
            "expired" if entry.until <= now else str((entry.until - now).days),
        )
        for entry in entries
    ]
    return TextTable([headings, *rows], left={0, 1, 2, 3})


def _names(holder: Holder) -> str:
    ids = [f"{each:#018x}" for each in holder.datapath_ids]
    return " ".join([*map(shown, holder.addresses), *ids]) or shown(holder.name)


def _as_json(entry: Entry) -> dict[str, object]:
    holder = entry.holder
    return {
        "name": entry.file,
        "for": holder.kind.value,
        "common_name": holder.name,
        "addresses": list(holder.addresses),
        "datapath_ids": list(holder.datapath_ids),
        "uris": [datapath_name(each) for each in holder.datapath_ids] or list(holder.uris),
        "expires": entry.until.isoformat(),
        "signed_by_authority": entry.is_ours,
    }
