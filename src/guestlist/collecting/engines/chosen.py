"""Choice of the engine from the arguments ``engine`` and ``jobs``."""

from __future__ import annotations

from guestlist.arguments import shown
from guestlist.collecting.engines.engine import Engine
from guestlist.collecting.engines.local import ALL_CORES, Local


def resolve_engine(engine: Engine | None, jobs: int | None) -> Engine:
    """Return the engine that a user chose, by itself or by a number of processes."""
    if engine is None:
        return ALL_CORES if jobs is None else Local(jobs)
    if jobs is not None:
        raise ValueError(
            f"Expected either jobs={shown(jobs)} or engine={shown(engine)}; jobs is short for engine=gl.Local({shown(jobs)})."
        )
    if isinstance(engine, type) or not isinstance(engine, Engine):
        raise ValueError(f"Expected engine={shown(engine)} to be gl.Local(), gl.Here() or gl.Ray().")
    return engine
