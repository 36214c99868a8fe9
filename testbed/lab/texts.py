"""Lines for people about what happened to a lab, from the data of its answers and events."""

from __future__ import annotations

from typing import Any

from kuijia_base.quantities import counted


def link_text(event: dict[str, Any]) -> str:
    """Return a line about a link that was cut or healed, from the data of a `NoticedLinkEvent`."""
    noticed = ", ".join(f"{switch} after {delay * 1000:.0f} ms" for switch, delay in event["delay"].items())
    return f"link {event['a']}-{event['b']} is {'up' if event['up'] else 'down'}: noticed by {noticed}"


def node_text(event: dict[str, Any]) -> str:
    """Return a line about a switch that was taken down or brought up, from the data of a `NodeEvent`."""
    links = counted(len(event["links"]), "link")
    return f"node {event['node']} is {'up' if event['up'] else 'down'}: {links} within {event['seconds'] * 1000:.0f} ms"


def reaction_text(event: dict[str, Any]) -> str | None:
    """Return a line about the controller's reaction, None if it had nothing to do."""
    if event["reaction_seconds"] is None:
        return None
    told = counted(event["tunnels_told"], "tunnel")
    return f"the controller informed the ingresses of {told} after {event['reaction_seconds'] * 1000:.0f} ms"


def plan_text(done: dict[str, Any]) -> str:
    """Return a line about a plan that was replaced, from the data of a `PlanUpdate`."""
    counts = ", ".join(f"{len(done[what])} {what}" for what in ("kept", "added", "removed"))
    seconds, reweighted = done["seconds"], done["reweighted"]
    return f"the new plan is in force after {seconds:.1f} s: tunnels {counts}, {reweighted} reweighted"


def handover_text(done: dict[str, Any]) -> str:
    """Return a line about a handover, from the data of a `Handover`."""
    return f"controller {done['after']} acts in place of controller {done['before']} after {done['seconds']:.2f} s"


def flow_text(flow: dict[str, Any]) -> str:
    """Return a line about a flow that was started."""
    rate = "as fast as it can" if flow["rate"] is None else f"at {flow['rate']:g} Mbit/s"
    ends = f"from {flow['source']} to {flow['target']}"
    return f"flow {flow['flow']} {ends} by {flow['kind'].upper()} {rate} for {flow['seconds']} s"


def withdrawn_text(done: dict[str, Any]) -> str:
    """Return a line about a plan that was taken out of force, from the data of a `PlanUpdate`."""
    removed = counted(len(done["removed"]), "tunnel")
    return f"the plan is withdrawn after {done['seconds']:.1f} s: {removed} removed"
