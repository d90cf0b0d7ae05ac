"""An experiment that can be read, and the function that runs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from guestlist import experiments
from guestlist.collecting.engines.chosen import resolve_engine
from guestlist.collecting.engines.engine import Engine, Progress
from guestlist.collecting.progress import progress_of
from guestlist.cover import Cover
from guestlist.experiments.running import AS_HUMPHRIES, run
from guestlist.experiments.setting import ExperimentSetting
from guestlist.games.mixture import Mixture
from guestlist.store.files import write_text


@dataclass(frozen=True)
class Experiment(experiments.Experiment):
    """A game of dependent records and its counterpart, for every epsilon; ``to_html(path)`` is to read."""

    def to_html(self, path: str | Path) -> Path:
        """Write the experiment as one self-contained page, and return where it is."""
        from guestlist.report.experiment.page import page

        write_text(Path(path), page(self))
        return Path(path)


def experiment(
    game: Mixture,
    data,
    setting: ExperimentSetting = AS_HUMPHRIES,
    *,
    label: str | None = None,
    folder: str | Path | None = None,
    seed: int = 0,
    jobs: int | None = None,
    engine: Engine | None = None,
    progress: Progress | bool = True,
    cover: Cover | None = None,
) -> Experiment:
    """Play a game of dependent records and its counterpart, for every epsilon, so many times.

    Args:
        game: such as ``Clusters(10_000, 10_000)``, ``Bias("sex", "Male", 0.9, 1000, 1000)`` or
            ``Sources("hospital", "Cleveland")``.
        data: the pool of records: a table with a ``label`` column, a path to one, ``(x, y)`` or ``Data``. Text becomes numbers.
        setting: how models are trained, and how often; by default as Humphries et al. (2023) did, with 10 repeats.
        folder: where every run is kept; a folder that was left goes on where it was, and more repeats can be asked for.
        seed, jobs, engine, progress, cover: as for ``audit``.

    Members, and those who are asked about, are the same for every epsilon of a repeat.
    """
    where, shown = resolve_engine(engine, jobs), progress_of(progress)
    return run(
        game,
        data,
        setting,
        label=label,
        folder=folder,
        seed=seed,
        engine=where,
        progress=shown,
        cover=cover,
        form=Experiment,
    )
