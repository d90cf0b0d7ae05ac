"""Commands ``epsilon`` and ``dp``."""

from typing import Any

import click

from guestlist import _collect, _findings, _report, _store, _util, defences, games, privacy
from guestlist.cli.common import (
    ATTACKS,
    DELTA_RANGE,
    EPSILON_RANGE,
    INPUTS,
    MAX_NUMBER,
    PATH,
    REFERENCES,
    REPORT,
    RUN,
    SEED,
    SHARE,
    Command,
    NumberRange,
    WholeNumber,
    address,
    as_json,
    build_engine,
    claim_from,
    cover_options,
    engine,
    gaussian_noise,
    jobs,
    option,
    print_json,
    progress_bar,
    quiet,
    show_warnings,
    updated_cover,
)


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@option(
    ATTACKS,
    "--delta",
    type=DELTA_RANGE,
    help="Delta of the guarantee.  [default: that of the claim in FOLDER, or 1e-5]",
)
@option(
    ATTACKS,
    "--claimed",
    type=EPSILON_RANGE,
    metavar="EPSILON",
    help="Claimed epsilon.  [default: the claim in FOLDER, at its delta]",
)
@gaussian_noise
@option(
    ATTACKS,
    "--attack",
    metavar="NAME",
    help="Attack whose scores are used. Choose it before you see its scores.  [default: the headline attack]",
)
@option(
    ATTACKS,
    "--method",
    type=click.Choice(["one-run", "curve", "gaussian", "clopper-pearson", "gaussian-runs", "bayesian-runs"]),
    help="Method of the bound. gaussian and gaussian-runs are tighter, and valid for Gaussian noise only; bayesian-runs is "
    "a credible bound, not a proof. The last three need many runs.  [default: one-run, or clopper-pearson for many runs]",
)
@option(
    ATTACKS,
    "--threshold",
    type=click.Choice(["bonferroni", "hold-out", "median"]),
    default="bonferroni",
    show_default=True,
    help="Correction for choosing the number of records to guess about.",
)
@option(
    ATTACKS,
    "--confidence",
    type=SHARE,
    default=0.95,
    show_default=True,
    help="Confidence level of the bound; for bayesian-runs, its posterior probability.",
)
@as_json
def epsilon(folder, delta, claimed, gaussian_noise, attack, method, threshold, confidence, as_json):
    """Test a claimed epsilon with the attacks of an audit.

    Prints a lower confidence bound on epsilon, and whether it contradicts the claim.

    \b
    guestlist epsilon audits/private --delta 1e-5 --claimed 2

    guestlist must have drawn the members of the audit in FOLDER: create it with guestlist dp, with
    gl.play(gl.games.Canaries(), …) or gl.play(gl.games.Bernoulli(0.5), …), and many runs with gl.play_many.
    """
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
    case = _findings.read_case(folder)
    claim = case.setting.claimed
    if gaussian_noise and claimed is None:
        raise click.UsageError("--gaussian-noise describes a claimed epsilon. Add --claimed EPSILON.")
    if delta is None:
        delta = _findings.DELTA if claim is None else claim.delta
    if claimed is not None:
        claim = claim_from(claimed, delta, gaussian_noise)
    elif claim is not None and claim.delta != delta:  # a claim holds only at its own delta
        claim = None
    result = _findings.epsilon_bound(
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
        click.echo(_report.epsilon_verdict(result))


MAX_CLASSES = 100  # more values than that are numbers, or names


@click.command(cls=Command)
@option(INPUTS, "--data", required=True, type=PATH, help="Records: .csv, .tsv or .parquet.")
@option(INPUTS, "--label", metavar="COLUMN", required=True, help="Column with the class.")
@option(INPUTS, "--drop", metavar="COLUMN", multiple=True, help="Column that is not a feature. Repeatable.")
@option(REPORT, "--out", required=True, type=PATH, help="Audit folder. Run the same command again to resume.")
@option(
    ATTACKS, "--epsilon", type=NumberRange(0.01, 1000, "[]"), required=True, help="Epsilon to train with, and to test."
)
@option(ATTACKS, "--delta", type=SHARE, default=1e-5, show_default=True, help="Delta of the guarantee.")
@option(
    INPUTS,
    "--canaries",
    type=WholeNumber(1),
    default=500,
    show_default=True,
    help="Number of mislabelled records, each included with probability 0.5.",
)
@option(
    INPUTS,
    "--all-records",
    is_flag=True,
    help="Include every record with probability 0.5 instead of canaries; none is mislabelled.",
)
@option(ATTACKS, "--hidden", type=WholeNumber(1), default=256, show_default=True, help="Units of the hidden layer.")
@option(ATTACKS, "--epochs", type=WholeNumber(1), default=30, show_default=True, help="Number of training epochs.")
@option(
    ATTACKS,
    "--batch-size",
    type=WholeNumber(1),
    default=256,
    show_default=True,
    help="Expected records per batch (Poisson sampling).",
)
@option(
    ATTACKS,
    "--learning-rate",
    type=NumberRange(0, MAX_NUMBER),
    default=0.01,
    show_default=True,
    help="Step size of Adam.",
)
@option(
    ATTACKS,
    "--clip",
    type=NumberRange(0, MAX_NUMBER),
    default=1.0,
    show_default=True,
    help="Largest norm of a record's gradient.",
)
@option(
    ATTACKS,
    "--noise",
    type=NumberRange(0, MAX_NUMBER, "[]"),
    help="Noise in multiples of --clip, instead of the noise that --epsilon needs. --epsilon is still claimed, so that "
    "you see whether the audit contradicts it.",
)
@option(
    ATTACKS,
    "--references",
    type=REFERENCES,
    default=0,
    show_default=True,
    help="Number of reference models to train. With about 16, attacks identify more records.",
)
@option(RUN, "--seed", type=SEED, default=0, show_default=True, help="Random seed.")
@cover_options
@jobs
@engine
@address
@quiet
@as_json
def dp(data, label, drop, out, epsilon, delta, all_records, canaries, references, seed, as_json, **options):
    """Train a network with DP-SGD and test its epsilon.

    \b
    guestlist dp --data adult.csv --label income --epsilon 2 --out audits/dp

    The noise is the smallest that guarantees --epsilon. Canaries are records with a wrong label; each is included in training
    with probability 0.5, and all other records are included. Add --noise 0 to see the result of the audit without noise.
    """
    from guestlist._audit.play import play

    progress = progress_bar(options["quiet"] or as_json)
    records, features, classes = _records(data, label, drop)
    game: games.Bernoulli | games.Canaries = games.Canaries(canaries)
    members = len(records) - canaries / 2
    if all_records:
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
            about={"name": f"DP-SGD network of {data.name}", "cover": updated_cover(options)},
        )
    page = results.to_html(out / "report.html")
    if as_json:
        print_json(results.document())
        return
    click.echo(
        f"Trained {recipe.steps:,} steps on Poisson-sampled batches of about {recipe.rate * members:,.0f} records, with "
        f"noise {recipe.noise:.3g} times the clip of {recipe.clip:g}{_guarantee_text(epsilon, delta, options['noise'])}."
    )
    assert results.epsilon is not None  # it was claimed
    click.echo(_report.epsilon_verdict(results.epsilon))
    click.echo(f"Report: {page}")


def _records(path, label: str, drop) -> tuple[Any, int, list]:
    """Read the table as numbers; also return the number of columns and the classes."""
    from dataclasses import replace

    import numpy as np
    import pandas as pd

    from guestlist.data import as_data
    from guestlist.datasets import as_numbers
    from guestlist.errors import InputError

    _util.check_columns(path, (label, *drop), side=str(path))
    records = as_data(_util.read_table(path).drop(columns=list(drop)), side="data", label=label)
    if pd.isna(records.y).any():
        raise InputError(
            f"Column {label!r} is missing for {pd.isna(records.y).sum():,} records of {path}. Drop these records."
        )
    classes = sorted(pd.unique(records.y), key=str)
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise InputError(
            f"Column {label!r} of {path} has {len(classes):,} different values; guestlist dp trains a classifier with 2 to "
            f"{MAX_CLASSES:,} classes. Choose another column with --label."
        )
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
        epsilon, delta=delta, progress=_collect.with_description(progress, "Searching for the noise"), **settings
    )


def _guarantee_text(epsilon: float, delta: float, noise: float | None) -> str:
    guarantee = f"ε = {epsilon:g} at δ = {delta:g}"
    if noise is None:
        return f", which guarantees {guarantee}"
    return f"; {guarantee} is claimed"
