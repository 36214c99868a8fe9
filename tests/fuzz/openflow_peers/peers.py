"""The kinds of hostile peers: each makes, from a seed, the list of what one connection does."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from kuijia_app.control.probe_frames import ProbeForm, ProbeSaid, probe_frame
from kuijia_app.tables.identifiers import LINK_PROBE_COOKIE
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import PLAIN_LAYOUT
from tests.fuzz.openflow_peers import wire
from tests.fuzz.openflow_peers.acts import (
    Deny,
    Drip,
    Handshake,
    Lie,
    Refuse,
    Reset,
    Script,
    Secure,
    Send,
    Serve,
    Shut,
    Stay,
)

FIRST_UNKNOWN = 0x00DEAD0000000000
"""Datapath ids from here on are nobody's."""

_LONG = 7.0
"""Seconds: longer than a peer should be waited for."""


@dataclass(frozen=True)
class World:
    """Knowledge of an attacker.

    Attributes:
        ports: of the application's switches, by datapath id.
        free: datapath ids, among these, of switches that are not connected: whoever comes first is let in.
        messages: that a peer sends.
    """

    ports: Mapping[int, Sequence[int]]
    free: Sequence[int] = ()
    messages: int = 100

    def known(self, random: Random) -> Handshake:
        datapath_id = random.choice(self.free if self.free and random.random() < 0.5 else sorted(self.ports))
        return Handshake(datapath_id, tuple(self.ports[datapath_id]))

    def stranger(self, random: Random) -> Handshake:
        return Handshake(FIRST_UNKNOWN + random.randrange(1 << 24))

    def anybody(self, random: Random) -> Handshake:
        return self.known(random) if random.random() < 0.7 else self.stranger(random)


Kind = Callable[[Random, World], Script]


def _flood(world: World, make: Callable[[], bytes], batch: int = 20) -> Script:
    """Return sends of all the messages that a peer has, some at a time."""
    script: Script = []
    for start in range(0, world.messages, batch):
        count = min(batch, world.messages - start)
        script.append(Send(b"".join(make() for _ in range(count)), count))
    return script


def _short_length(random: Random, world: World) -> Script:
    wrong = [wire.with_length(wire.any_message(random, (1,)), random.randrange(8)) for _ in range(world.messages)]
    return [Send(wire.hello()), Send(b"".join(wrong), len(wrong)), Stay(0.1)]


def _zero_length(_random: Random, world: World) -> Script:
    return [Send(bytes(8) * world.messages, world.messages), Stay(0.1)]


def _huge_length(random: Random, world: World) -> Script:
    body = random.randbytes(60_000)
    begun = wire.message(random.choice(wire.FROM_SWITCH), body, length=0xFFFF)
    return [Send(wire.hello()), *([Send(begun)] * max(1, world.messages // 20)), Stay(0.2)]


def _empty_hello_elements(random: Random, world: World) -> Script:
    return [
        Send(wire.hello_with_empty_elements(random.choice((1, 2, 100))) * world.messages, world.messages),
        Stay(0.1),
    ]


def _empty_elements_at_once(random: Random, world: World) -> Script:
    return [
        Send(wire.hello()),
        *_flood(world, lambda: wire.empty_elements(random.choice(wire.MULTIPARTS), 3)),
        Stay(0.1),
    ]


def _empty_elements(random: Random, world: World) -> Script:
    kind = random.choice(wire.MULTIPARTS)
    return [world.anybody(random), *_flood(world, lambda: wire.empty_elements(kind, random.choice((1, 9)))), Stay(0.1)]


def _truncated(random: Random, world: World) -> Script:
    whole = b"".join(wire.any_message(random, (1,)) for _ in range(world.messages))
    return [world.stranger(random), Send(whole[: random.randrange(len(whole))], world.messages), Shut(), Stay(0.2)]


def _random_bytes(random: Random, world: World) -> Script:
    return [Send(random.randbytes(64 * world.messages), world.messages), Stay(0.1)]


def _tls_garbage(random: Random, world: World) -> Script:
    client_hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + random.randbytes(506)
    return [Send(client_hello * max(1, world.messages // 10), world.messages), Stay(0.2)]


def _zeros(_random: Random, world: World) -> Script:
    """Send what is neither TLS nor OpenFlow."""
    return [Send(bytes(200), 1), *([Send(bytes(8), 1)] * (world.messages // 10)), Stay(0.1)]


def _half_a_handshake(random: Random, world: World) -> Script:
    return [Secure(1), random.choice((Stay(0.2), Reset(), Shut(), Send(random.randbytes(60 * world.messages))))]


def _no_certificate(random: Random, world: World) -> Script:
    """End the handshake without a certificate; send records that nobody can decrypt."""

    def make() -> bytes:
        body = random.randbytes(random.randrange(1, 200))
        return struct.pack("!BHH", random.choice((20, 21, 22, 23)), 0x0303, len(body)) + body

    return [Secure(3), *_flood(world, make), Stay(0.1)]


def _other_versions(random: Random, world: World) -> Script:
    def make() -> bytes:
        return wire.message(random.choice(wire.FROM_SWITCH), bytes(24), version=random.choice((0, 1, 5, 6, 0x7F, 0xFF)))

    return [Send(make()), *_flood(world, make), Stay(0.1)]


def _damaged(random: Random, world: World) -> Script:
    def make() -> bytes:
        return wire.damaged(random, wire.any_message(random, (1, 2)))

    return [world.anybody(random), *_flood(world, make), Stay(0.1)]


def _features_first(random: Random, world: World) -> Script:
    return [Send(wire.features_reply(world.anybody(random).datapath_id)), *_flood(world, wire.hello), Stay(0.1)]


def _hello_twice(random: Random, world: World) -> Script:
    return [world.anybody(random), *_flood(world, wire.hello), Stay(0.1)]


def _features_again(random: Random, world: World) -> Script:
    """Change the datapath id for each of those in use, one after the other."""
    ids = [*sorted(world.ports), FIRST_UNKNOWN + 7]
    return [world.stranger(random), *_flood(world, lambda: wire.features_reply(random.choice(ids))), Stay(0.1)]


def _unasked_replies(random: Random, world: World) -> Script:
    return [
        world.anybody(random),
        *_flood(world, lambda: wire.any_message(random, (1, 2, 3))),
        Stay(0.2, answering=True),
    ]


def _walk(random: Random, world: World) -> Script:
    """Do anything in any order."""
    script: Script = []
    for _ in range(world.messages):
        match random.randrange(20):
            case 0:
                script.append(world.anybody(random))
            case 1:
                script.append(Stay(0.02, answering=random.random() < 0.5))
            case 2:
                script.append(Send(wire.hello()))
            case 3:
                script.append(Send(wire.features_reply(world.anybody(random).datapath_id)))
            case _:
                script.append(Send(wire.any_message(random, (1, 2, 3))))
    return script


def _id_in_use(random: Random, world: World) -> Script:
    return [world.known(random), Stay(0.3, answering=True), *_flood(world, lambda: wire.message(wire.ECHO_REQUEST))]


def _unknown_ids(random: Random, world: World) -> Script:
    return [world.stranger(random), *_flood(world, lambda: wire.message(wire.ECHO_REQUEST)), Stay(0.3, answering=True)]


def _odd_ids(random: Random, world: World) -> Script:
    odd = random.choice((0, 1 << 63, (1 << 64) - 1, 0xFFFFFFFF))
    return [Handshake(odd), *_flood(world, lambda: wire.message(wire.ECHO_REQUEST)), Stay(0.1, answering=True)]


def _unknown_ports(random: Random, world: World) -> Script:
    def make() -> bytes:
        return wire.port_status(random.randrange(1, 1 << 32), live=random.random() < 0.5)

    return [world.anybody(random), *_flood(world, make), Stay(0.2, answering=True)]


def _known_ports(random: Random, world: World) -> Script:
    """Claim that the ports of a switch in use flap."""
    switch = world.known(random)

    def make() -> bytes:
        return wire.port_status(random.choice(switch.ports or (1,)), live=random.random() < 0.5)

    return [switch, *_flood(world, make), Stay(0.2, answering=True)]


def _absurd_stats(random: Random, world: World) -> Script:
    masks = (b"\xff\0\xff\0", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x0f\xff\0\0")

    def make() -> bytes:
        address = wire.masked_address(random.randbytes(4), random.choice(masks))
        length = random.choice((None, None, 0, 1, 47, 0xFFFF))
        return wire.multipart_reply(wire.FLOW, wire.flow_stats(address, length=length), random.choice((0, 1)))

    return [world.anybody(random), *_flood(world, make), Stay(0.2, answering=True)]


def _errors(random: Random, world: World) -> Script:
    def make() -> bytes:
        return wire.error(random.randrange(1 << 32), random.randrange(20), random.randrange(20), random.randbytes(64))

    return [world.anybody(random), *_flood(world, make), Stay(0.2, answering=True)]


def _roles(random: Random, world: World) -> Script:
    def make() -> bytes:
        return wire.role_reply(random.randrange(5), random.randrange(1 << 64), random.randrange(1 << 32))

    return [world.anybody(random), *_flood(world, make), Stay(0.2, answering=True)]


def _barriers(random: Random, world: World) -> Script:
    def make() -> bytes:
        return wire.message(wire.BARRIER_REPLY, b"", random.randrange(1 << 12))

    return [world.anybody(random), *_flood(world, make), Stay(0.2, answering=True)]


def _more_for_ever(random: Random, world: World) -> Script:
    kind = random.choice((wire.PORT_DESC, wire.FLOW, wire.GROUP_DESC))
    numbers = iter(range(1, 1 << 30))

    def make() -> bytes:
        if kind == wire.PORT_DESC:
            return wire.port_description([next(numbers) for _ in range(8)], flags=wire.REPLY_MORE)
        return wire.multipart_reply(kind, b"", 0, wire.REPLY_MORE)

    return [world.anybody(random), *_flood(world, make), Stay(0.2, answering=True)]


def _packets(random: Random, world: World) -> Script:
    def make() -> bytes:
        return wire.packet_in(random.randbytes(200), random.randrange(1, 1 << 32), random.choice((None, 0, 0xFFFF)))

    return [world.anybody(random), *_flood(world, make), Stay(0.1, answering=True)]


def _forged_probes(random: Random, world: World) -> Script:
    """Claim that probes of links have arrived, signed by a key of one's own, or of no possible length."""
    switch, form = world.known(random), ProbeForm(random.choice(tuple(Tagging)), PLAIN_LAYOUT.control)

    def make() -> bytes:
        said = ProbeSaid(random.choice((1, 2, 1 << 63)), random.randrange(1, 9), random.randrange(1 << 32), 1504)
        frame = probe_frame(form, random.randbytes(32), said)[: random.choice((0, 17, 60, 1518))]
        return wire.packet_in(frame, random.randrange(1, 9), cookie=LINK_PROBE_COOKIE)

    return [switch, Serve(0.2), *_flood(world, make), Serve(0.2)]


def _garbage_queues(random: Random, world: World) -> Script:
    """Answer questions about queues, asked or not, with bytes of any length."""

    def make() -> bytes:
        xid = (1 << 30) + random.randrange(60)
        body = random.randbytes(random.choice((0, 1, 39, 40, 400)))
        return wire.multipart_reply(wire.QUEUE, body, xid, random.choice((0, 0, wire.REPLY_MORE)))

    return [world.known(random), Serve(0.2), *_flood(world, make), Serve(0.2)]


def _own_ids(random: Random) -> int:
    """Return a transaction id that the controller, the scheduler or the gate may have used."""
    return random.choice((0, 1 << 30, 1 << 31)) + random.randrange(1, 60)


def _accepted_errors(random: Random, world: World) -> Script:
    """Be a switch, then refuse what one was sent, again and again."""

    def make() -> bytes:
        return wire.error(_own_ids(random), random.randrange(1, 14), random.randrange(16), random.randbytes(64))

    return [world.known(random), Serve(0.3), *_flood(world, make), Serve(0.2)]


def _refusals(random: Random, world: World) -> Script:
    """Be a switch that refuses what it was just sent, by the ids of these messages; come back for more."""
    script: Script = [world.known(random)]
    for _ in range(max(1, world.messages // 20)):
        script += [Serve(0.05), Refuse(20, random.randrange(1, 14))]
    return [*script, Serve(0.2)]


def _masked_ports(random: Random, world: World) -> Script:
    """Be a switch whose packets came in at a masked port."""

    def make() -> bytes:
        mask = random.choice((0, 1, 0xFFFF, 0xFFFFFFFF))
        return wire.packet_in(random.randbytes(100), random.randrange(1, 9), cookie=LINK_PROBE_COOKIE, mask=mask)

    return [world.known(random), Serve(0.2), *_flood(world, make), Serve(0.2)]


def _masked_fields(random: Random, world: World) -> Script:
    """Be a switch whose answers have masks where there can be none."""

    def make() -> bytes:
        entry = wire.flow_stats(wire.any_field(random))
        return wire.multipart_reply(wire.FLOW, entry, _own_ids(random), random.choice((0, wire.REPLY_MORE)))

    return [world.known(random), Serve(0.2), *_flood(world, make), Serve(0.2)]


def _accepted_barriers(random: Random, world: World) -> Script:
    """Be a switch, then answer barriers that have been answered or were never sent."""
    return [
        world.known(random),
        Serve(0.3),
        *_flood(world, lambda: wire.message(wire.BARRIER_REPLY, b"", _own_ids(random))),
        Serve(0.2),
    ]


def _lying_switch(random: Random, world: World) -> Script:
    """Be a switch of the plan that lies about its roles by valid ids, one way after the other, and comes again."""
    free = random.choice(world.free or sorted(world.ports))
    lies = [Deny(random.uniform(0.2, 1.5), random.choice(tuple(Lie)), random.getrandbits(32)) for _ in range(3)]
    return [Handshake(free, tuple(world.ports[free])), *lies, Reset()]


def _role_errors(random: Random, world: World) -> Script:
    """Be a switch, then refuse claims and changes by their ids, again and again."""

    def make() -> bytes:
        return wire.error(random.randrange(1, 60), *random.choice((wire.IS_SLAVE, wire.STALE)))

    return [world.known(random), Serve(0.3), *_flood(world, make), Serve(0.2)]


def _accepted_and_gone(random: Random, world: World) -> Script:
    """Be programmed, and go: the next one comes back with the same datapath id."""
    return [world.known(random), Serve(random.uniform(0.02, 0.3)), Reset()]


def _more_when_asked(random: Random, world: World) -> Script:
    return [world.known(random), Serve(0.5, more=world.messages)]


def _slow_frame(random: Random, world: World) -> Script:
    """Begin a long message after the handshake, and never end it."""
    begun = wire.multipart_reply(random.choice((wire.FLOW, wire.PORT_DESC)), bytes(20))
    return [world.anybody(random), Drip(wire.with_length(begun, 0xFFF8), 0.15)]


def _silent(_random: Random, _world: World) -> Script:
    return [Stay(_LONG)]


def _dripping(random: Random, world: World) -> Script:
    return [Drip((wire.hello() + wire.features_reply(world.anybody(random).datapath_id))[:40], 0.2)]


def _deaf(random: Random, world: World) -> Script:
    """Ask for echoes and never read them."""
    ask = wire.message(wire.ECHO_REQUEST, bytes(2000))
    return [world.stranger(random), *_flood(world, lambda: ask), Stay(_LONG / 2, reading=False)]


def _answers_no_echo(random: Random, world: World) -> Script:
    return [world.anybody(random), Stay(_LONG)]


def _half_closed(random: Random, world: World) -> Script:
    return [world.stranger(random), Shut(), Stay(_LONG / 2)]


def _resets(random: Random, world: World) -> Script:
    return [world.anybody(random), *_flood(world, lambda: wire.message(wire.ECHO_REQUEST)), Reset()]


def _come_and_go(_random: Random, _world: World) -> Script:
    return []


KINDS: Mapping[str, Kind] = {
    "short-length": _short_length,
    "zero-length": _zero_length,
    "huge-length": _huge_length,
    "empty-hello-elements": _empty_hello_elements,
    "empty-elements-at-once": _empty_elements_at_once,
    "empty-elements": _empty_elements,
    "truncated": _truncated,
    "random-bytes": _random_bytes,
    "tls-garbage": _tls_garbage,
    "zeros": _zeros,
    "half-a-handshake": _half_a_handshake,
    "no-certificate": _no_certificate,
    "other-versions": _other_versions,
    "damaged": _damaged,
    "features-first": _features_first,
    "hello-twice": _hello_twice,
    "features-again": _features_again,
    "unasked-replies": _unasked_replies,
    "walk": _walk,
    "id-in-use": _id_in_use,
    "unknown-ids": _unknown_ids,
    "odd-ids": _odd_ids,
    "unknown-ports": _unknown_ports,
    "known-ports": _known_ports,
    "absurd-stats": _absurd_stats,
    "errors": _errors,
    "roles": _roles,
    "barriers": _barriers,
    "more-for-ever": _more_for_ever,
    "packets": _packets,
    "forged-probes": _forged_probes,
    "garbage-queues": _garbage_queues,
    "accepted-errors": _accepted_errors,
    "refusals": _refusals,
    "masked-ports": _masked_ports,
    "masked-fields": _masked_fields,
    "accepted-barriers": _accepted_barriers,
    "lying-switch": _lying_switch,
    "role-errors": _role_errors,
    "accepted-and-gone": _accepted_and_gone,
    "more-when-asked": _more_when_asked,
    "slow-frame": _slow_frame,
    "silent": _silent,
    "dripping": _dripping,
    "deaf": _deaf,
    "answers-no-echo": _answers_no_echo,
    "half-closed": _half_closed,
    "resets": _resets,
    "come-and-go": _come_and_go,
}
"""Framing, order, lies, then slow and silent ones."""

_SLOW = frozenset({"silent", "dripping", "slow-frame", "deaf", "answers-no-echo", "half-closed"})


def script_of(kind: str, seed: int, index: int, world: World) -> Script:
    """Return what the connection of this number does; equal arguments give equal scripts."""
    return KINDS[kind](Random(f"{kind} {seed} {index}"), world)


def kind_of(kinds: Sequence[str], seed: int, index: int) -> str:
    """Return the kind of the connection of this number; slow ones are rarer, as each is there for long."""
    weights = [1 if kind in _SLOW else 5 for kind in kinds]
    return Random(f"{seed} {index}").choices(kinds, weights)[0]
