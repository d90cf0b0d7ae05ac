"""Commands ``epsilon`` and ``dp``."""

from typing import Any

import click

from guestlist import _collect, _store, _util, defences, games, privacy
from guestlist.cli.common import address, as_json, build_engine, engine, jobs, print_json, quiet, show_warnings
from guestlist.cli.options import (
    DELTA_RANGE,
    EPSILON_RANGE,
    MAX_NUMBER,
    PATH,
    REFERENCES,
    SEED,
    SHARE,
    NumberRange,
    WholeNumber,
    claim_from,
    cover_from,
    cover_options,
    gaussian_noise,
)


@click.command()
@click.argument("folder", type=PATH)
@click.option(
    "--delta",
    type=DELTA_RANGE,
    help="Of the promise.  [default: that of the claim kept in FOLDER, or 1e-5]",
)
@click.option(
    "--claimed",
    type=EPSILON_RANGE,
    help="The epsilon of the promise.  [default: the one kept in FOLDER, at its delta]",
)
@gaussian_noise
@click.option("--attack", help="Whose scores to look at, named before you saw them.  [default: the headline]")
@click.option(
    "--method",
    type=click.Choice(["one-run", "curve", "gaussian", "clopper-pearson", "gaussian-runs", "bayesian-runs"]),
    help="gaussian and gaussian-runs prove more, of Gaussian noise alone; bayesian-runs says what is believed, and proves "
    "nothing; the last three are for many runs.  [default: one-run, or clopper-pearson]",
)
@click.option(
    "--threshold",
    type=click.Choice(["bonferroni", "hold-out", "median"]),
    default="bonferroni",
    show_default=True,
    help="How the choice of how many records to guess about is paid for.",
)
@click.option(
    "--confidence",
    type=SHARE,
    default=0.95,
    show_default=True,
    help="Of the bound; for bayesian-runs, the probability with which it is believed.",
)
@as_json
def epsilon(folder, delta, claimed, gaussian_noise, attack, method, threshold, confidence, as_json):
    """Say what the audit in FOLDER proves about the model's epsilon, and whether a claim is contradicted.

    \b
    guestlist epsilon audits/private --delta 1e-5 --claimed 2

    Members must have been drawn by us: the folder comes from gl.play(gl.games.Bernoulli(0.5), …), or
    gl.games.Canaries(); many runs from
    gl.play_many.
    """
    from guestlist._findings.case_io import read_case
    from guestlist._findings.epsilon import DELTA, epsilon_bound
    from guestlist._report.sections.epsilon import epsilon_verdict

    methods: dict[str | None, privacy.BoundMethod | None] = {
        None: None,
        "one-run": privacy.OneRun(),
        "curve": privacy.OneRunCurve(),
        "gaussian": privacy.OneRunCurve(curve="gaussian"),
        "clopper-pearson": privacy.ClopperPearson(),
        "gaussian-runs": privacy.GaussianRuns(),
        "bayesian-runs": privacy.BayesianRuns(),
    }
    thresholds: dict[str, privacy.Bonferroni | privacy.HoldOut | privacy.Median] = {
        "bonferroni": privacy.Bonferroni(),
        "hold-out": privacy.HoldOut(),
        "median": privacy.Median(),
    }
    case = read_case(folder)
    claim = case.setting.claimed
    if gaussian_noise and claimed is None:
        raise click.UsageError("--gaussian-noise says what kind of promise --claimed is: give that too.")
    if delta is None:
        if claim is None:
            delta = DELTA
        else:
            delta = claim.delta
    if claimed is not None:
        claim = claim_from(claimed, delta, gaussian_noise)
    elif claim is not None and claim.delta != delta:  # a claim holds only at its own delta
        claim = None
    result = epsilon_bound(
        case,
        delta=delta,
        claimed=claim,
        attack=attack,
        method=methods[method],
        threshold=thresholds[threshold],
        confidence=confidence,
    )
    if as_json:
        print_json({**_store.to_json(result), "contradicted": result.contradicted})
    else:
        click.echo(epsilon_verdict(result))


MAX_CLASSES = 100  # more values than that are numbers, or names


@click.command()
@click.option("--data", required=True, type=PATH, help="Records: .csv, .tsv or .parquet.")
@click.option("--label", required=True, help="Column that holds the class.")
@click.option("--drop", multiple=True, help="Column that is not a feature; may be given several times.")
@click.option("--out", required=True, type=PATH, help="Folder; run again with it to go on.")
@click.option("--epsilon", type=NumberRange(0.01, 1000, "[]"), required=True, help="That is promised, and claimed.")
@click.option("--delta", type=SHARE, default=1e-5, show_default=True)
@click.option(
    "--canaries", type=WholeNumber(1), default=500, show_default=True, help="Mislabelled records, each in by a coin."
)
@click.option("--coins", is_flag=True, help="A coin for every record instead: half of them train, none is mislabelled.")
@click.option("--hidden", type=WholeNumber(1), default=256, show_default=True, help="Units of the one hidden layer.")
@click.option("--epochs", type=WholeNumber(1), default=30, show_default=True)
@click.option(
    "--batch-size", type=WholeNumber(1), default=256, show_default=True, help="Expected: batches are Poisson."
)
@click.option("--learning-rate", type=NumberRange(0, MAX_NUMBER), default=0.01, show_default=True, help="Of Adam.")
@click.option(
    "--clip",
    type=NumberRange(0, MAX_NUMBER),
    default=1.0,
    show_default=True,
    help="Largest norm of a record's gradient.",
)
@click.option(
    "--noise",
    type=NumberRange(0, MAX_NUMBER, "[]"),
    help="Train with this noise, in multiples of --clip, and claim --epsilon all the same: does the audit notice?",
)
@click.option(
    "--references",
    type=REFERENCES,
    default=0,
    show_default=True,
    help="Models to compare with: attacks find more with 16 or so, and it takes as many trainings.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed.")
@cover_options
@jobs
@engine
@address
@quiet
@as_json
def dp(data, label, drop, out, epsilon, delta, coins, canaries, references, seed, as_json, **options):
    """Train a network with DP-SGD on a table, claim its epsilon, and say whether an audit contradicts it.

    \b
    guestlist dp --data adult.csv --label income --epsilon 2 --delta 1e-5 --out audits/dp

    The noise is the least that keeps the promise. Some hundred records are canaries: they get a wrong label, and a coin decides
    whether each of them trains; all others do. See what the audit would have said without noise: --noise 0.
    """
    from guestlist._audit.play import play
    from guestlist._report.sections.epsilon import epsilon_verdict

    progress = None
    if not options["quiet"] and not as_json:
        progress = _collect.show_progress
    records, features, classes = _records(data, label, drop)
    game: games.Bernoulli | games.Canaries = games.Canaries(canaries)
    members = len(records) - canaries / 2
    if coins:
        game = games.Bernoulli(0.5)
        members = len(records) / 2
    recipe = _recipe(epsilon, delta, members, progress, options)

    with show_warnings():
        results = play(
            game,
            recipe,
            records,
            model=defences.mlp(features, len(classes), hidden=(options["hidden"],)),
            classes=classes,
            references=references,
            folder=out,
            seed=seed,
            engine=build_engine(options["engine"], options["jobs"], options["address"]),
            claimed=privacy.Claim(epsilon, delta),
            progress=progress or False,
            about={"name": f"DP-SGD network of {data.name}", "cover": cover_from(options)},
        )
    page = results.to_html(out / "report.html")
    if as_json:
        print_json(results.document())
        return
    click.echo(
        f"Trained {recipe.steps:,} steps on batches of about {recipe.rate * members:,.0f} records, each drawn by itself, with "
        f"noise {recipe.noise:.3g} times the clip of {recipe.clip:g}{_guarantee_text(epsilon, delta, options['noise'])}."
    )
    assert results.epsilon is not None  # it was claimed
    click.echo(epsilon_verdict(results.epsilon))
    click.echo(f"Report: {page}")


def _records(path, label: str, drop) -> tuple[Any, int, list]:
    """Read the table as numbers; also return the number of columns and the classes."""
    from dataclasses import replace

    import numpy as np
    import pandas as pd

    from guestlist._audit.experiment_summary import as_numbers
    from guestlist.data import as_data
    from guestlist.errors import InputError

    _util.check_columns(path, (label, *drop), side=str(path))
    table = _util.read_table(path)
    records = as_data(table.drop(columns=list(drop)), side="data", label=label)
    if pd.isna(records.y).any():
        raise InputError(f"{pd.isna(records.y).sum():,} records of {path} have no {label}. Leave them out.")
    classes = sorted(pd.unique(records.y), key=str)
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise InputError(f"Expected 2 to {MAX_CLASSES:,} classes in {label!r}, found {len(classes):,} values.")
    x = np.ascontiguousarray(as_numbers(records.x), dtype=np.float32)
    return replace(records, x=x), x.shape[1], classes


def _recipe(epsilon: float, delta: float, members: float, progress, options):

    settings = {
        "clip": options["clip"],
        "rate": min(1.0, options["batch_size"] / max(members, 1.0)),
        "epochs": options["epochs"],
        "learning_rate": options["learning_rate"],
        "optimizer": "adam",
    }
    if options["noise"] is not None:
        return defences.DpSgd(noise=options["noise"], **settings)
    return defences.dp_sgd_for(
        epsilon, delta=delta, progress=_collect.with_description(progress, "Looking for the noise"), **settings
    )


def _guarantee_text(epsilon: float, delta: float, noise: float | None) -> str:
    guarantee = f"ε = {epsilon:g} at δ = {delta:g}"
    if noise is None:
        return f", which promises {guarantee}"
    return f"; {guarantee} is claimed all the same"
