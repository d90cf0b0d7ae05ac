"""``game``: run an experiment on dependent records, with and without differential privacy."""

import math
from dataclasses import fields

import click

from guestlist import _audit, _collect, _report, _util, games
from guestlist._util import close_matches, decimal, interval, single_line
from guestlist.cli.common import (
    ATTACKS,
    INPUTS,
    PATH,
    REFERENCES,
    REPORT,
    RUN,
    SEED,
    SHARE,
    Group,
    NumberRange,
    WholeNumber,
    address,
    as_json,
    build_engine,
    cover_options,
    engine,
    jobs,
    option,
    option_group,
    print_json,
    quiet,
    updated_cover,
    verbose,
)
from guestlist.cli.show import show_table


@click.group(cls=Group)
def game():
    """Run experiments on members that differ from non-members.

    Members are drawn from one part of the records and non-members from another. In the i.i.d. control the same records are
    mixed. Models are trained with differential privacy at every epsilon, and without. Run the same command again to resume.
    """


def _epsilons(context, option, value: str) -> tuple[float, ...]:
    try:
        epsilons = tuple(float(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r} is not a comma-separated list of numbers, such as 0.1,1,10,inf."
        ) from error
    valid = all(math.isinf(epsilon) or 0.01 <= epsilon <= 1000 for epsilon in epsilons) and -math.inf not in epsilons
    if not valid or len(set(epsilons)) < len(epsilons):
        raise click.BadParameter(
            f"{value!r}: epsilon values must be between 0.01 and 1000, or inf for training without DP, and differ."
        )
    return epsilons


def _choice(name: str, values: list[str], help: str):
    """Return an option with a few values; the first is the default."""
    return option(ATTACKS, name, type=click.Choice(values), default=values[0], show_default=True, help=help)


_shared_options = option_group(
    option(INPUTS, "--data", required=True, type=PATH, help="Records: .csv, .tsv or .parquet."),
    option(INPUTS, "--label", metavar="COLUMN", required=True, help="Column with the label."),
    option(INPUTS, "--drop", metavar="COLUMN", multiple=True, help="Column that is not a feature. Repeatable."),
    option(REPORT, "--out", required=True, type=PATH, help="Folder. Run the same command again to resume."),
    option(
        ATTACKS,
        "--epsilon",
        "epsilons",
        default="0.1,1,10,100,inf",
        show_default=True,
        callback=_epsilons,
        help="Comma-separated epsilon values for DP training; inf trains without DP.",
    ),
    option(ATTACKS, "--delta", type=SHARE, default=1e-5, show_default=True, help="Delta of the DP training."),
    option(ATTACKS, "--repeats", type=WholeNumber(2), default=10, show_default=True, help="Number of repetitions."),
    option(ATTACKS, "--epochs", type=WholeNumber(1), default=100, show_default=True, help="Number of training epochs."),
    option(ATTACKS, "--batch-size", type=WholeNumber(1), default=200, show_default=True, help="Records per batch."),
    option(
        ATTACKS,
        "--shadows",
        type=REFERENCES,
        default=0,
        show_default=True,
        help="Number of shadow models per run, trained on records that are not evaluated; an attack is fitted on them.",
    ),
    _choice(
        "--average-of",
        ["target", "shadows"],
        "Models whose average training loss is the threshold of average_threshold; shadows needs --shadows.",
    ),
    _choice(
        "--shadow-training",
        ["private", "plain"],
        "Training of shadow models: private uses the epsilon of the target, plain uses none.",
    ),
    option(RUN, "--seed", type=SEED, default=0, show_default=True, help="Random seed."),
    jobs,
    engine,
    address,
    quiet,
    verbose,
    as_json,
    cover_options,
)


def _size_options(required: bool):
    default = "" if required else "  [default: all]"
    return option_group(
        *(
            option(
                INPUTS,
                f"--{side}",
                type=WholeNumber(1),
                required=required,
                help=f"Number of {side} to draw.{default}",
            )
            for side in ("members", "nonmembers")
        )
    )


@game.command()
@_size_options(required=False)
@option(
    INPUTS,
    "--cluster",
    type=WholeNumber(0),
    default=0,
    show_default=True,
    help="Cluster that members are drawn from: 0 or 1.",
)
@_shared_options
def cluster(members, nonmembers, cluster, **options):
    """Draw members from one cluster of every class.

    Non-members are drawn from the other cluster.

    \b
    guestlist game cluster --data adult.csv --label income \\
        --members 10000 --nonmembers 10000 --out games/adult
    """
    if cluster > 1:
        raise click.UsageError(f"--cluster {cluster} does not exist: every class has two clusters. Use 0 or 1.")
    _play(_build_game(games.Clusters, members, nonmembers, cluster), **options)


@game.command()
@_size_options(required=True)
@option(INPUTS, "--column", metavar="COLUMN", required=True, help="Column with the attribute. It is not a feature.")
@option(INPUTS, "--value", metavar="VALUE", required=True, help="Value of the attribute.")
@option(
    INPUTS,
    "--share",
    type=NumberRange(0, 1, "[]"),
    required=True,
    help="Share of members with that value; among non-members it is 0.5.",
)
@_shared_options
def bias(members, nonmembers, column, value, share, **options):
    """Draw members in which an attribute is over-represented.

    \b
    guestlist game bias --data adult.csv --label income --column sex \\
        --value Male --share 0.9 --members 5000 --nonmembers 5000 --out games/men
    """
    _play(_build_game(games.Bias, column, value, share, members, nonmembers), **options)


@game.command()
@_size_options(required=False)
@option(INPUTS, "--column", metavar="COLUMN", required=True, help="Column with the source. It is not a feature.")
@option(INPUTS, "--members-from", metavar="VALUE", required=True, help="Source of the members.")
@option(INPUTS, "--nonmembers-from", metavar="VALUE", help="Source of the non-members.  [default: all other sources]")
@_shared_options
def groups(members, nonmembers, column, members_from, nonmembers_from, **options):
    """Draw members from one source, such as a hospital.

    Non-members are drawn from other sources.

    \b
    guestlist game groups --data heart.csv --label disease \\
        --column hospital --members-from Cleveland --out games/heart
    """
    if members_from == nonmembers_from:
        raise click.UsageError(f"--members-from and --nonmembers-from are both {members_from!r}. Choose two sources.")
    _play(_build_game(games.Sources, column, members_from, nonmembers_from, members, nonmembers), **options)


def _build_game(game: type, *options):
    """Build a game; an invalid option is a usage error."""
    try:
        return game(*options)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _play(game, *, data, label, drop, out, seed, jobs, engine, address, quiet, verbose, as_json, **options) -> None:

    from guestlist._audit.experiment import experiment
    from guestlist.errors import InputError

    table = _util.read_table(data)
    unknown = [name for name in (label, *drop) if name not in table.columns]
    if unknown:
        raise InputError(
            f"{data} has no column {unknown[0]!r}. Available names: {close_matches(unknown[0], map(str, table.columns))}."
        )
    if options["average_of"] == "shadows" and not options["shadows"]:
        raise InputError("--average-of shadows needs shadow models. Add --shadows N with N of at least 1.")
    names = {field.name for field in fields(_audit.ExperimentSetting)}
    result = experiment(
        game,
        table.drop(columns=list(drop)),
        _audit.ExperimentSetting(**{name: value for name, value in options.items() if name in names}),
        label=label,
        folder=out,
        seed=seed,
        engine=build_engine(engine, jobs, address),
        progress=False if quiet or as_json else _collect.show_progress,
        about=updated_cover(options),
    )
    page = result.to_html(out / "experiment.html")
    if as_json:
        print_json(result.to_dict())
        return
    click.echo(single_line(_report.prose("experiment.game", result.game)))
    for text in _report.answer(result):
        click.echo(single_line(text))
    if verbose:
        show_table(
            [
                {
                    "attack": gap.attack,
                    "epsilon": "inf" if math.isinf(gap.epsilon) else f"{gap.epsilon:g}",
                    "difference": decimal(gap.difference.value),
                    "95% CI": interval(gap.difference),
                    "members differ": decimal(result.mean(gap.attack, gap.epsilon).value),
                    "i.i.d. control": decimal(result.mean(gap.attack, gap.epsilon, "iid").value),
                }
                for gap in result.gaps
            ]
        )
    click.echo(f"Page: {_report.short_path(page)}")
