"""Choice of the engine from the arguments ``engine`` and ``jobs``."""

from __future__ import annotations

from guestlist.arguments import short_repr
from guestlist.collecting.engines.engine import Engine
from guestlist.collecting.engines.local import ALL_CORES, Local


def resolve_engine(engine: Engine | None, jobs: int | None) -> Engine:
    """Return the engine that a user chose, by itself or by a number of processes."""
    if engine is None:
        return ALL_CORES if jobs is None else Local(jobs)
    if jobs is not None:
        raise ValueError(
            f"Expected either jobs={short_repr(jobs)} or engine={short_repr(engine)}; "
            f"jobs is short for engine=gl.Local({short_repr(jobs)})."
        )
    if isinstance(engine, type) or not isinstance(engine, Engine):
        raise ValueError(f"Expected engine={short_repr(engine)} to be gl.Local(), gl.Here() or gl.Ray().")
    return engine
