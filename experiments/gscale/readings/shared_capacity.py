"""Plans whose links have one capacity for both directions together, as undirected edges do; for any objective.

Real links are full duplex, so the solver of the product has no such option: this is a reading of the paper's program.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from te_solver.programs.incidence import Incidence
from te_solver.programs.program import Objective, Options, Program


def with_shared_capacity(objective: Objective) -> Objective:
    """Return the objective for links whose two directions share the capacity of one."""
    return replace(objective, name=f"{objective.name}-shared", program=partial(_program, objective))


def _program(objective: Objective, incidence: Incidence, options: Options) -> Program:
    return objective.program(replace(incidence, links=_of_both_directions(incidence)), options)


def _of_both_directions(incidence: Incidence) -> sp.csc_array:
    """Return 1 where a tunnel (column) uses a link (row) in either direction, shape (L, T)."""
    edges = incidence.edge_of_link
    together = sp.csc_array((edges[:, None] == edges[None, :]).astype(np.float64))
    links = sp.csc_array(together @ incidence.links)
    links.sort_indices()
    return links
