"""Effects of each kind of fault on the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random

from kuijia_app.control.reconciliation import AddGroup, Change, DeleteFlow, DeleteGroup, FlowKey, ModifyGroup, PutFlow
from kuijia_app.control.roles import first_generation, term_of
from kuijia_app.control.snapshot import ForeignEntry
from kuijia_app.framework import event_log
from kuijia_app.tables.identifiers import LAST_PORT, TUNNEL_PRIORITY
from kuijia_app.tables.rules import FlowEntry, Group, GroupType, Match, Output
from tests.rehearsal.calm import require_tables
from tests.rehearsal.controller import RehearsedController
from tests.rehearsal.faults import FaultKind, RehearsedFault
from tests.rehearsal.switch import Lie, SimulatedSwitch, ViolationError
from tests.rehearsal.world import Line, World

_SLOW_DELAYS = (0.05, 0.3, 2.0)
_STRAY_GROUP = 0x7000_0BAD
_MOST_WRITES = 3
"""Files that a controller may still write before it ends, or its disk is full: fewer than this."""

_FOREIGN = "a foreign controller"

_PUT_RIGHT = 2.0
"""Seconds within which deleted tables are back, and a switch that connects without any is programmed."""

_PAST = 3.0
"""Seconds after a fault in which controllers may still change their parts."""

_LIED_FOR = 0.5
"""Seconds from the begin of a lie until another switch loses its tables."""

_LATEST_CONNECTION = 0.5
"""Seconds within which a switch connects again that has ended its connections."""

_TURN = 0.2
"""Seconds between two looks of a switch at who acts, if it connects to others only."""


def hit(world: World, fault: RehearsedFault) -> None:
    """Begin a fault, and schedule its end."""
    world.faults += 1
    world.traffic.disturbed(fault.span)
    world.updates.disturbed(fault)
    _EFFECTS[fault.kind](world, fault)
    world.faulted_at = world.time.now


def _hit_link(world: World, fault: RehearsedFault) -> None:
    edges = sorted(world.wiring.topology.edges)
    a, b = edges[fault.pick % len(edges)]
    port = world.wiring.port(a, b)
    live = not world.switches[a].ports[port]
    world.port_goes(a, port, live=live)
    world.port_goes(b, world.wiring.port(b, a), live=live)


def _hit_port(world: World, fault: RehearsedFault) -> None:
    name, port = _port(world, fault)
    world.port_goes(name, port, live=not world.switches[name].ports[port])


def _flap(world: World, fault: RehearsedFault) -> None:
    _toggle(world, fault, *_port(world, fault))


def _storm(world: World, fault: RehearsedFault) -> None:
    name = _switch(world, fault)
    for port in world.wiring.link_ports(name):
        _toggle(world, fault, name, port)


def _toggle(world: World, fault: RehearsedFault, name: str, port: int) -> None:
    for turn in range(2 * (1 + fault.pick % 6)):
        live = bool(turn % 2)
        world.time.after(turn * fault.span / 40, partial(world.port_goes, name, port, live=live))


def _delete_port(world: World, fault: RehearsedFault) -> None:
    name, port = _port(world, fault)
    is_there = port in world.switches[name].missing
    world.port_goes(name, port, live=is_there, is_there=is_there)


def _hit_session(world: World, fault: RehearsedFault) -> None:
    ends = sorted(world.sessions.up)
    if not ends:
        return
    name, port = ends[fault.pick % len(ends)]
    is_paused = bool(fault.other % 2)  # as a switch that stands still for a moment loses all its sessions
    world.traffic.alarmed(name)
    for end in ends:
        if end == (name, port) or (is_paused and end[0] == name):
            world.sessions.force_down(end, fault.span)
            world.report(name, (end[1], False, True))
    world.traffic.changed(name)


def _restart(world: World, fault: RehearsedFault, *, keeps_tables: bool = False) -> None:
    name = _switch(world, fault)
    if not keeps_tables:
        world.traffic.switch_hit(name)
    world.lose_all(name)
    world.switches[name].restart(keeps_tables=keeps_tables)


def _fill(world: World, fault: RehearsedFault) -> None:
    switch = world.switches[_switch(world, fault)]
    switch.is_full = not switch.is_full
    world.traffic.switch_hit(switch.name)


def _fill_table(world: World, fault: RehearsedFault) -> None:
    switch = world.switches[_switch(world, fault)]
    switch.is_table_full = not switch.is_table_full
    world.traffic.switch_hit(switch.name)


def _have_a_whim(world: World, fault: RehearsedFault) -> None:
    switch = world.switches[_switch(world, fault)]
    switch.refuses_after = fault.other % 12
    world.traffic.switch_hit(switch.name)


def _kill(world: World, fault: RehearsedFault) -> None:
    number = fault.pick % len(world.controllers)
    if world.controllers[number].is_alive:
        world.kill(number, writes=fault.other % _MOST_WRITES)
        world.start_again(number, fault.span)


def _freeze(world: World, fault: RehearsedFault) -> None:
    controller = _controller(world, fault)
    controller.freeze(is_frozen=True)
    world.time.after(fault.span, partial(controller.freeze, is_frozen=False))


def _slow_down(world: World, fault: RehearsedFault) -> None:
    line = _line(world, fault)
    delay = world.delays[line] = _SLOW_DELAYS[fault.pick % len(_SLOW_DELAYS)]
    world.traffic.disturbed(fault.span + delay)  # the last message that it makes late comes then
    world.time.after(fault.span, partial(_speed_up, world, line))
    if line in world.connections:
        world.set_delays(line, world.connections[line])


def _speed_up(world: World, line: Line) -> None:
    world.delays.pop(line, None)
    if line in world.connections:
        world.set_delays(line, world.connections[line])


def _write_as_another(world: World, fault: RehearsedFault) -> None:
    """Let a controller that no role keeps from it write; our own learn of it when the switch connects again."""
    name = _switch(world, fault)
    world.traffic.switch_hit(name)
    world.switches[name].overwrite(_strange_changes(world.switches[name], fault))
    world.tampered.add(name)
    world.time.after(fault.span, partial(world.leave_alone, name))


def _usurp(world: World, fault: RehearsedFault) -> None:
    name = _switch(world, fault)
    switch = world.switches[name]
    world.traffic.switch_hit(name)
    term = term_of(switch.generation or 0) + 1 + fault.other % 3
    switch.displaced_by(_FOREIGN, first_generation(term, world.random.getrandbits(16)))
    switch.overwrite(_strange_changes(switch, fault))
    world.tampered.add(name)
    world.time.after(fault.span, partial(world.leave_alone, name))


def _delete_entry(world: World, fault: RehearsedFault) -> None:
    keys = list(world.switches[_switch(world, fault)].flows)
    if keys:
        _delete(world, _switch(world, fault), [DeleteFlow(keys[fault.other % len(keys)])])


def _delete_group(world: World, fault: RehearsedFault) -> None:
    groups = sorted(world.switches[_switch(world, fault)].groups)
    if groups:
        _delete(world, _switch(world, fault), [DeleteGroup(groups[fault.other % len(groups)])])


def _delete_all(world: World, fault: RehearsedFault) -> None:
    switch = world.switches[_switch(world, fault)]
    _delete(world, switch.name, [*map(DeleteFlow, switch.flows), *map(DeleteGroup, switch.groups)])


def _delete(world: World, name: str, changes: list[Change]) -> None:
    """Let somebody delete what is there, who leaves the controller connected; the tables must be right again soon."""
    world.traffic.switch_hit(name)
    if world.is_only_fault(world.faults):  # a fault that ends may cost a connection: that is as bad as one that lasts
        world.time.after(_PUT_RIGHT, partial(_require_right, world, name, world.faults))
    world.delete(name, changes)


def _require_right(world: World, name: str, number: int) -> None:
    if world.is_only_fault(number) and name not in world.acting.resting:
        require_tables(world, world.acting, name)


def _add_foreign_entry(world: World, fault: RehearsedFault) -> None:
    """Add an entry that defeats none of ours, or one that does: the model carries packets by ours alone."""
    name = _switch(world, fault)
    match = Match(in_port=LAST_PORT) if fault.other % 2 else Match()
    world.switches[name].foreign.append(ForeignEntry(fault.other, FlowKey(0, 1 + TUNNEL_PRIORITY, match)))


def _lie(world: World, fault: RehearsedFault, lie: Lie) -> None:
    """Let a switch lie and connect again; no part changes, and a switch that is wiped is programmed."""
    name = _switch(world, fault)
    world.traffic.switch_hit(name)
    liar = world.switches[name].lie = lie, world.random
    world.time.after(fault.span, partial(_be_honest, world, name, liar))
    if _is_calm(world, name):
        parts = _changes_of_parts(world)
        world.time.after(_LIED_FOR, partial(_wipe_another, world, fault, name, world.faults))
        for seconds in (_LIED_FOR, 2 * _LIED_FOR + _PUT_RIGHT, 6.0):
            world.time.after(seconds, partial(_require_parts, world, world.faults, parts, 0))
    world.come_again(name)


def _be_honest(world: World, name: str, lie: tuple[Lie, Random]) -> None:
    if world.switches[name].lie is lie:
        world.switches[name].lie = None


def _is_calm(world: World, name: str) -> bool:
    """Return True if there is no fault but the one of a switch that begins now, and the one before is long past."""
    others = (switch for other, switch in world.switches.items() if other != name)
    are_honest = not world.wanderers and all(each.lie is None for each in others)
    is_past = world.time.now - world.faulted_at > _PAST
    acts = world.acting.is_acting and world.acting.is_settled
    return is_past and are_honest and acts and world.is_only_lie(world.faults)


def _changes_of_parts(world: World) -> list[int]:
    kinds = (event_log.ROLE_TAKEN, event_log.ROLE_YIELDED, event_log.ROLE_LOST)
    return [sum(event in kinds for event in each.events) for each in world.controllers]


def _require_parts(world: World, number: int, before: list[int], most: int) -> None:
    """Check that controllers have changed their parts so often at most, unless another fault has come."""
    if world.is_only_lie(number):
        changes = [after - known for after, known in zip(_changes_of_parts(world), before, strict=True)]
        if max(changes) > most:
            raise ViolationError(f"one switch makes controllers change their parts {changes} times")


def _wipe_another(world: World, fault: RehearsedFault, liar: str, number: int) -> None:
    others = [name for name in world.switches if name != liar]
    name = others[fault.other % len(others)]
    if world.is_only_lie(number):
        world.traffic.switch_hit(name)
        world.traffic.disturbed(fault.span)
        world.come_again(name)
        world.switches[name].restart()
        world.time.after(_LATEST_CONNECTION + _PUT_RIGHT, partial(_require_programmed, world, name, number))


def _require_programmed(world: World, name: str, number: int) -> None:
    if world.is_only_lie(number):
        require_tables(world, world.acting, name)


def _wander(world: World, fault: RehearsedFault) -> None:
    """Let a switch connect to those who stand by; while nothing else is wrong, that is a reason for one takeover."""
    if len(world.controllers) == 1:
        return
    name = _switch(world, fault)
    if _is_calm(world, name):
        parts = _changes_of_parts(world)
        world.time.after(fault.span, partial(_require_parts, world, world.faults, parts, 1))
    world.wanderers.add(name)
    for turn in range(round(fault.span / _TURN)):
        world.time.after(turn * _TURN, partial(_wander_on, world, name))
    world.time.after(fault.span + _TURN, partial(world.wanderers.discard, name))


def _wander_on(world: World, name: str) -> None:
    if name in world.wanderers:
        world.wander(name)


def _strange_changes(switch: SimulatedSwitch, fault: RehearsedFault) -> list[Change]:
    """Return changes to what is there: one group less, one changed, one more; the same with entries."""
    changes: list[Change] = [
        AddGroup(Group(_STRAY_GROUP + fault.pick, GroupType.SELECT, ())),
        PutFlow(FlowEntry(TUNNEL_PRIORITY, Match(in_port=LAST_PORT - fault.pick), (Output(1),))),
    ]
    groups, entries = sorted(switch.groups), list(switch.flows.values())
    if groups:
        group = switch.groups[groups[fault.other % len(groups)]]
        changes += [ModifyGroup(Group(group.group_id, group.group_type, ()))]
        changes += [DeleteGroup(groups[fault.pick % len(groups)])]
    if entries:
        entry = entries[fault.other % len(entries)]
        changes += [PutFlow(replace(entry, actions=(), written=()))]
    return changes


def _cut_peers(world: World, fault: RehearsedFault) -> None:
    """Cut one or both ways between two controllers."""
    count = len(world.controllers)
    if count == 1:
        return
    one = fault.pick // 2 % count
    other = (one + 1) % count
    ways = ((one, other), (other, one))
    for way in ways[: 1 + fault.other % 2] if fault.pick % 2 else ways[1:]:
        world.peers.cut(way, fault.span)


def _replace_plan(world: World, fault: RehearsedFault) -> None:
    number = fault.pick % len(world.controllers)
    plan = world.plans[fault.other % len(world.plans)]
    world.stores[number].replace_by_hand(plan)
    controller = world.controllers[number]
    acts_alone = [each for each in world.controllers if each.is_acting] == [controller]
    world.updates.asked(plan if acts_alone and not controller.is_frozen else None)
    if controller.is_alive:
        controller.ask_for_plan()


def _fill_disk(world: World, fault: RehearsedFault) -> None:
    store = world.stores[fault.pick % len(world.stores)]
    store.room = fault.other % _MOST_WRITES
    world.time.after(fault.span, partial(setattr, store, "room", None))


def _switch(world: World, fault: RehearsedFault) -> str:
    names = list(world.switches)
    return names[fault.pick % len(names)]


def _port(world: World, fault: RehearsedFault) -> tuple[str, int]:
    name = _switch(world, fault)
    ports = sorted(world.wiring.link_ports(name))
    return name, ports[fault.other % len(ports)]


def _line(world: World, fault: RehearsedFault) -> Line:
    return _switch(world, fault), fault.other % len(world.controllers)


def _controller(world: World, fault: RehearsedFault) -> RehearsedController:
    return world.controllers[fault.pick % len(world.controllers)]


def _cut(*ways: str) -> Callable[[World, RehearsedFault], None]:
    return lambda world, fault: world.cut(_line(world, fault), ways, fault.span)


_EFFECTS: dict[FaultKind, Callable[[World, RehearsedFault], None]] = {
    FaultKind.LINK: _hit_link,
    FaultKind.PORT: _hit_port,
    FaultKind.FLAP: _flap,
    FaultKind.STORM: _storm,
    FaultKind.PORT_GONE: _delete_port,
    FaultKind.SESSION: _hit_session,
    FaultKind.RESTART: _restart,
    FaultKind.WARM_RESTART: partial(_restart, keeps_tables=True),
    FaultKind.SWITCH_FREEZE: lambda world, fault: world.freeze_switch(_switch(world, fault), fault.span),
    FaultKind.FULL: _fill,
    FaultKind.TABLE_FULL: _fill_table,
    FaultKind.WHIM: _have_a_whim,
    FaultKind.KILL: _kill,
    FaultKind.FREEZE: _freeze,
    FaultKind.LOSS: lambda world, fault: world.lose(_line(world, fault)),
    FaultKind.DELAY: _slow_down,
    FaultKind.CUT_UP: _cut("up"),
    FaultKind.CUT_DOWN: _cut("down"),
    FaultKind.CUT: _cut("up", "down"),
    FaultKind.PEERS: _cut_peers,
    FaultKind.FOREIGN: _write_as_another,
    FaultKind.ENTRY_DELETED: _delete_entry,
    FaultKind.GROUP_DELETED: _delete_group,
    FaultKind.ALL_DELETED: _delete_all,
    FaultKind.FOREIGN_ENTRY: _add_foreign_entry,
    FaultKind.USURPER: _usurp,
    FaultKind.HANDOVER: lambda world, fault: _controller(world, fault).hand_over(),
    FaultKind.PLAN: _replace_plan,
    FaultKind.WITHDRAW: lambda world, fault: _controller(world, fault).withdraw(),
    FaultKind.DISK: _fill_disk,
    FaultKind.ROLE_LIES: partial(_lie, lie=Lie.ROLES),
    FaultKind.ID_LIES: partial(_lie, lie=Lie.IDS),
    FaultKind.ERROR_LIES: partial(_lie, lie=Lie.ERRORS),
    FaultKind.WANDERER: _wander,
}
