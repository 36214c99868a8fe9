"""Lists of what can be chosen by name, shipped or from installed packages."""

from __future__ import annotations

from simulator.studies.packet.transports import transport_names
from te_solver.formats.topohub_networks import topohub_names
from te_solver.networks import shipped_names
from te_solver.programs.registry import objective_names
from te_solver.schemes.all_schemes import scheme_names
from te_solver.tunnels.path_finders import path_choice_words


def networks() -> tuple[str, ...]:
    """Return the networks that come with Kuijia and, if it is installed, with topohub: for `kuijia.load_topology`.

    >>> networks()[:2]
    ('fig1', 'gscale')
    """
    return (*shipped_names(), *topohub_names())


def path_choices() -> tuple[str, ...]:
    """Return the names for `paths` of `kuijia.solve`.

    >>> path_choices()[0]
    'disjoint'
    """
    return path_choice_words()


def objectives() -> tuple[str, ...]:
    """Return the names for `objective` of `kuijia.solve`.

    >>> objectives()[0]
    'max-throughput'
    """
    return objective_names()


def schemes() -> tuple[str, ...]:
    """Return the names for `schemes` of `kuijia.whatif`.

    >>> schemes()[0]
    'kuijia'
    """
    return scheme_names()


def transports() -> tuple[str, ...]:
    """Return the names for `transport` of `kuijia.packet`.

    >>> "dctcp" in transports()
    True
    """
    return transport_names()
