"""Run an experiment on dependent records, with and without differential privacy."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from guestlist._audit import (
    ACCURACIES,
    ATTACKS,
    PLAIN,
    SHADOWS,
    AuditConfig,
    Experiment,
    ExperimentSetting,
    Run,
    json_values,
    log_probabilities,
    measures,
    summarise_runs,
)
from guestlist._case import Cover
from guestlist._collect import Engine, Files, Progress, clear_work, run_all, with_description
from guestlist._store import (
    audit_folder,
    folder_lock,
    from_json,
    read_json,
    read_npz,
    remove_partial_files,
    row_hashes,
    write_json,
)
from guestlist._util import joined_digest, one_thread, stream
from guestlist.attacks import ROWS, balanced, hashes, learn, sorted_features
from guestlist.data import Data, as_data, without_groups
from guestlist.datasets import as_numbers
from guestlist.defences import Recipe, mlp
from guestlist.errors import FolderError, InputError
from guestlist.games import (
    Clusters,
    Mixture,
    Parts,
    Sources,
    check_game,
    clustered,
    draw,
    hidden_columns,
    like_members,
    options_of,
)

# A class with fewer members or non-members among the shadows' records uses one network for all classes.
FEWEST_OF_A_CLASS = 50
FEWEST = 4 * FEWEST_OF_A_CLASS  # minimum number of the adversary's own records


class Shadows(NamedTuple):
    """Outputs of the shadow models for the adversary's records, one model after the other.

    Args:
        outputs: (shadows × records, classes) as logarithms.
        labels: (shadows × records,) positions of the classes.
        member: (shadows × records,) whether the shadow was trained on the record.
    """

    outputs: np.ndarray
    labels: np.ndarray
    member: np.ndarray

    @property
    def average_loss(self) -> float:
        """Average loss on the records that each model was trained on."""
        return float(-self.outputs[self.member, self.labels[self.member]].mean())


def train_shadows(
    train: Callable[[np.ndarray, int], np.ndarray],
    labels: np.ndarray,
    unused: np.ndarray,
    shadows: int,
    rng: np.random.Generator,
) -> Shadows | None:
    """Train shadow models, each on a random half of the adversary's records; None with too few records.

    Args:
        train: function from (records,) a mask of the training records and the number of the shadow model, to (records, classes)
            its outputs for all records.
        labels: (records,) positions of the classes.
        unused: (records,) the adversary's own records.
    """
    rows = np.flatnonzero(unused)
    if len(rows) < FEWEST:
        return None
    outputs = []
    members = []
    for number in range(shadows):
        half = np.zeros(len(labels), dtype=bool)
        half[rng.permutation(rows)[: len(rows) // 2]] = True
        outputs.append(train(half, number)[rows])
        members.append(half[rows])
    return Shadows(np.concatenate(outputs), np.tile(labels[rows], shadows), np.concatenate(members))


def shadow_predictions(shadows: Shadows, labels: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return (records,) membership predictions of one network per class, fitted on the outputs of shadow models.

    Args:
        labels: (records,) positions of the classes.
        outputs: (records, classes) log-probabilities of the target.
    """
    shadow_outputs, shadow_labels, member = shadows
    calls = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        in_class = shadow_labels == label
        of_class = labels == label
        if min((in_class & member).sum(), (in_class & ~member).sum()) < FEWEST_OF_A_CLASS:
            in_class = np.ones_like(in_class)
        features = shadow_outputs[in_class], shadow_labels[in_class]
        taken = balanced(member[in_class], hashes(*features), ROWS)
        fitted = learn(sorted_features(*(part[taken] for part in features)), member[in_class][taken])
        calls[of_class] = fitted(sorted_features(outputs[of_class], labels[of_class])) > 0
    return calls


def unused_records(parts: Parts, evaluated: np.ndarray, max_records: int, rng: np.random.Generator) -> np.ndarray:
    """Return (records,) the adversary's own records: at most ``max_records`` unevaluated records of each part.

    A part is what one draw takes records from: a source, a cluster, or the records with one value of an attribute.
    """
    masks = {draw.mask.tobytes(): draw.mask for draw in (*parts.members, *parts.nonmembers)}
    unused = np.zeros(len(evaluated), dtype=bool)
    for mask in masks.values():
        unused[rng.permutation(np.flatnonzero(mask & ~evaluated & ~unused))[:max_records]] = True
    return unused


ARMS = ("apart", "iid")
AS_HUMPHRIES = ExperimentSetting()


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
    about: Cover | None = None,
) -> Experiment:
    """Play a game of dependent records and its i.i.d. control, repeatedly for every epsilon.

    Members and evaluated records are the same for every epsilon of a repeat. It needs the extra ``torch``, and ``dp`` for finite
    epsilons.

    Args:
        game: Game such as ``Clusters(10_000, 10_000)``, ``Bias("sex", "Male", 0.9, 1000, 1000)`` or
            ``Sources("hospital", "Cleveland")``.
        data: Pool of records: a table with a ``label`` column, a path to one, ``(x, y)`` or ``Data``. Text is encoded by
            ``as_numbers``.
        setting: Training of the models and number of repeats; by default as in Humphries et al. (2023), with 10 repeats.
        label: Label column of the table.
        folder: Folder that stores every run; run again with the same folder to resume or to add repeats.
        seed, jobs, engine, progress: As for ``audit``.
        about: Cover of the page, ``gl.Cover(title=…, …)``.

    Returns:
        The mean of every metric, and the increase of each attack's advantage due to dependent records.

    Raises:
        InputError: If the game is not one of dependent records, or needs more records than there are.
        FolderError: If ``folder`` holds a different experiment, or is damaged.
        ValueError: If an option is out of range.

    Examples:
        >>> _, (x, y), _ = gl.testing.small_model()
        >>> setting = gl.ExperimentSetting(epsilons=(np.inf,), repeats=2, hidden=(4,), epochs=1, validation=10)
        >>> outcome = gl.experiment(gl.games.Clusters(30, 30), (x, y), setting, jobs=1, progress=False)
        >>> sorted({point.arm for point in outcome.points})
        ['apart', 'iid']
    """
    config = AuditConfig.from_options(
        label=label, folder=folder, seed=seed, jobs=jobs, engine=engine, progress=progress, about=about
    )
    return run_experiment(game, data, setting, config)


def run_experiment(game: Mixture, data, setting: ExperimentSetting, config: AuditConfig) -> Experiment:
    """Run everything that the folder lacks, and summarise all runs."""
    check_game(game)
    if not hasattr(game, "parts"):
        raise InputError(
            f"{type(game).__name__} is not a game of dependent records. Pass gl.games.Clusters, gl.games.Bias or "
            "gl.games.Sources."
        )
    if getattr(game, "iid", False):
        raise InputError("The i.i.d. control is always included. Remove iid=True.")
    played, pool = _clustered_once(game, _pool(game, data, config.label))
    members = _checked(played, pool, setting, config.seed)
    with audit_folder(config.folder) as path, folder_lock(path):
        cover = _begin(path, game, setting, pool, config)
        remove_partial_files(path)
        clear_work(path)
        noise_progress = with_description(config.progress, "Looking for the noise")
        recipes = tuple(setting.recipe(epsilon, members, noise_progress) for epsilon in setting.epsilons)
        work = ExperimentRuns(game=played, setting=setting, recipes=recipes, folder=path, seed=config.seed)
        missing = [k for k in range(work.count) if not work.path(k).exists()]
        run_all(work, missing, pool, path, engine=config.engine, progress=config.progress)
        runs = [work.read(k) for k in range(work.count)]
        summary = replace(summarise_runs(options_of(game), setting, runs), cover=cover)
        write_json(path / "experiment.json", summary.to_dict())
        return summary


@dataclass(frozen=True)
class ExperimentRuns:
    """All runs, numbered repeat by repeat, so that more repeats leave the earlier runs unchanged.

    Args:
        recipes: one for each epsilon.
        latest_shadows: plain shadow models of the latest repeat, by arm: every epsilon uses the same ones.
    """

    game: Any
    setting: ExperimentSetting
    recipes: tuple[Recipe, ...]
    folder: Path
    seed: int
    latest_shadows: dict[str, tuple[int, Shadows | None]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def count(self) -> int:
        return self.setting.repeats * len(self.recipes) * len(ARMS)

    def indices(self, k: int) -> tuple[int, int, str]:
        """Return the repeat, the position of the epsilon, and the arm of a run."""
        remainder, arm = divmod(k, len(ARMS))
        repeat, number = divmod(remainder, len(self.recipes))
        return repeat, number, ARMS[arm]

    def path(self, k: int) -> Path:
        return self.folder / "runs" / f"run-{k:05d}.npz"

    def files(self, k: int, pool: Data) -> Files:
        return {self.path(k): {name: np.array(value) for name, value in self.measured(k, pool).items()}}

    def read(self, k: int) -> Run:
        repeat, number, arm = self.indices(k)
        try:
            stored = read_npz(self.path(k), *ATTACKS, *ACCURACIES)
            values = {name: float(stored[name]) for name in (*ATTACKS, *ACCURACIES)}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FolderError(
                f"Cannot read {self.path(k)} ({error}). Delete it and run the experiment again."
            ) from error
        return Run(arm, self.setting.epsilons[number], repeat, values)

    def measured(self, k: int, pool: Data) -> Mapping[str, float]:
        """Run once: draw members, train a model on them, and attack it."""
        repeat, number, arm = self.indices(k)
        game = replace(self.game, iid=True) if arm == "iid" else self.game
        split = draw(game, pool, 1, _seed(self.seed, repeat))
        parts = self.game.parts(pool)
        rng = stream(self.seed, "experiment", repeat, 1)
        unseen = np.zeros(len(pool), dtype=bool)
        if arm == "apart":
            unseen = like_members(parts, pool, split.evaluated[0], self.setting.validation, rng)
        classes, labels = np.unique(pool.y, return_inverse=True)
        known = replace(pool, y=labels)

        def train(rows: np.ndarray, recipe: Recipe, *key: int) -> np.ndarray:
            module = mlp(pool.x.shape[1], len(classes), hidden=self.setting.hidden)
            with one_thread():
                trained = recipe(module, known.take(rows), stream(self.seed, "experiment", repeat, *key))
                return log_probabilities(trained, pool.x)

        def train_shadow(rows: np.ndarray, which: int) -> np.ndarray:
            if plain:
                return train(rows, self.setting.recipe(math.inf, int(rows.sum())), 3, ARMS.index(arm), which)
            return train(rows, self.recipes[number], 2, number, ARMS.index(arm), 1 + which)

        plain = self.setting.shadow_training == PLAIN
        log_probs = train(split.members, self.recipes[number], 2, number, ARMS.index(arm), 0)
        calls = None
        average = None
        if self.setting.shadows:
            if not plain or self.latest_shadows.get(arm, (None,))[0] != repeat:
                # Validation records only measure the target's accuracy, so the adversary may have them.
                unused = unused_records(parts, split.evaluated[0], int(split.members.sum()), rng)
                trained = train_shadows(train_shadow, labels, unused, self.setting.shadows, rng)
                self.latest_shadows[arm] = (repeat, trained)
            shadows = self.latest_shadows[arm][1]
            if self.setting.average_of == SHADOWS:
                average = np.nan
            if shadows is not None:
                calls = shadow_predictions(shadows, labels, log_probs)
                if self.setting.average_of == SHADOWS:
                    average = shadows.average_loss
        return measures(log_probs, labels, split.members, split.nonmembers, unseen, calls, average)


def _pool(game: Mixture, data, label: str | None) -> Data:
    records = without_groups(as_data(data, side="data", label=label, group=hidden_columns(game)), hidden_columns(game))
    x = as_numbers(records.x) if hasattr(records.x, "columns") else np.asarray(records.x)
    if x.ndim != 2:
        raise InputError(f"Features must have the shape (records, features); found {x.shape}. Flatten them first.")
    return replace(records, x=np.ascontiguousarray(x, dtype=np.float32))


def _clustered_once(game: Mixture, pool: Data) -> tuple[Mixture, Data]:
    """Compute clusters once, as a column of the records, instead of in every run."""
    if not isinstance(game, Clusters):
        return game, pool
    groups = {**pool.groups, "cluster": clustered(pool, game.clusters).astype(str)}
    played = Sources("cluster", str(game.cluster), members=game.members, nonmembers=game.nonmembers)
    return played, replace(pool, groups=groups)


def _checked(game: Mixture, pool: Data, setting: ExperimentSetting, seed: int) -> int:
    """Return the number of members of a first draw; raise before training if a draw is impossible."""
    if not np.isfinite(pool.x).all():
        raise InputError("Some features are missing or not finite. Impute them, or drop these records.")
    split = draw(game, pool, 1, _seed(seed, 0))
    if not split.members.any() or not split.nonmembers.any():
        raise InputError(
            f"{game} produced no members (or no non-members) from {len(pool):,} records. Provide more records."
        )
    if len(np.unique(pool.y)) < 2:
        raise InputError(
            f"All records have label {pool.y[0]}, so no classifier can be trained. Provide records of at least two classes."
        )
    lacking = set(np.unique(pool.y)) - set(np.unique(pool.y[split.members]))
    if lacking:
        raise InputError(
            f"No member has label {sorted(map(str, lacking))[0]}, so the model cannot learn it. Provide more records, or drop "
            "this class."
        )
    members = int(split.members.sum())
    if setting.average_of == SHADOWS:
        rng = stream(seed, "experiment", 0, 1)
        n_unused = int(unused_records(game.parts(pool), split.evaluated[0], members, rng).sum())
        if n_unused < FEWEST:
            raise InputError(
                f"Shadow models need at least {FEWEST} records that are not evaluated; {n_unused} are available. Use "
                "fewer members or non-members, or average_of='target' (--average-of target)."
            )
    return members


def _begin(folder: Path, game: Mixture, setting: ExperimentSetting, pool: Data, config: AuditConfig) -> Cover | None:
    """Write the plan of the runs, or raise for a folder with a different plan; return the cover."""
    groups = [(name, values.tolist()) for name, values in sorted(pool.groups.items())]
    plan: dict[str, Any] = {
        "game": options_of(game),
        "setting": {name: value for name, value in json_values(asdict(setting)).items() if name != "repeats"},
        "seed": config.seed,
        "data": joined_digest(row_hashes(pool).tobytes(), *(repr(group).encode() for group in groups)),
    }
    path = folder / "plan.json"
    if not path.exists():
        if (folder / "manifest.json").exists():
            raise FolderError(f"{folder} holds an audit. Choose another folder.")
        write_json(path, {**config.about, **plan})
    stored = read_json(path)
    if isinstance(stored.get("setting"), Mapping):  # An option that is newer than the folder had its default there.
        defaults = json_values(asdict(AS_HUMPHRIES))
        stored = {**stored, "setting": {**{name: defaults[name] for name in plan["setting"]}, **stored["setting"]}}
    different = [name for name, value in plan.items() if stored.get(name) != value]
    if different:
        raise FolderError(
            f"{folder} holds an experiment with a different {' and '.join(different)}. Choose another folder."
        )
    if "cover" in config.about:
        stored = {**stored, "cover": config.about["cover"]}
        write_json(path, stored)
    if "cover" in stored:
        return from_json(Cover, stored["cover"])
    return None


def _seed(seed: int, repeat: int) -> int:
    return int(stream(seed, "experiment", repeat, 0).integers(2**31))
