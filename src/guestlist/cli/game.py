"""``game``: run an experiment on dependent records, with and without differential privacy."""

import math
from dataclasses import fields

import click

from guestlist import _collect, games
from guestlist._util import decimal, interval, single_line
from guestlist.cli.common import address, as_json, build_engine, engine, jobs, print_json, quiet
from guestlist.cli.options import PATH, REFERENCES, SEED, SHARE, NumberRange, WholeNumber, cover_from, cover_options
from guestlist.cli.show import show_table


@click.group()
def game():
    """Is it the model, or are members different people? Play a game of dependent records beside its counterpart.

    Members are drawn from one part of the people and non-members from another; in the counterpart the same people are mixed.
    Models are trained with differential privacy at every epsilon and without. Run again with the same --out to go on.
    """


def _epsilons(context, option, value: str) -> tuple[float, ...]:
    try:
        epsilons = tuple(float(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"Expected numbers such as 0.1,1,10,inf, found {value!r}.") from error
    valid = all(math.isinf(epsilon) or 0.01 <= epsilon <= 1000 for epsilon in epsilons) and -math.inf not in epsilons
    if not valid or len(set(epsilons)) < len(epsilons):
        raise click.BadParameter(
            f"Expected numbers from 0.01 to 1000, each once; inf for plain training. Found {value!r}."
        )
    return epsilons


def _shared_options(command):
    """Add the options of every game."""
    options = [
        click.option("--data", required=True, type=PATH, help="Records: .csv, .tsv or .parquet."),
        click.option("--label", required=True, help="Column that holds the label."),
        click.option("--drop", multiple=True, help="Column that is not a feature; may be given several times."),
        click.option("--out", required=True, type=PATH, help="Folder; run again with it to resume."),
        click.option(
            "--epsilon",
            "epsilons",
            default="0.1,1,10,100,inf",
            show_default=True,
            callback=_epsilons,
            help="Comma-separated epsilon values for DP training; inf trains without DP.",
        ),
        click.option("--delta", type=SHARE, default=1e-5, show_default=True),
        click.option("--repeats", type=WholeNumber(2), default=10, show_default=True),
        click.option("--epochs", type=WholeNumber(1), default=100, show_default=True),
        click.option("--batch-size", type=WholeNumber(1), default=200, show_default=True),
        click.option(
            "--shadows",
            type=REFERENCES,
            default=0,
            show_default=True,
            help="Models per run that teach an attack, trained on records that are not asked about.",
        ),
        click.option(
            "--average-of",
            type=click.Choice(["target", "shadows"]),
            default="target",
            show_default=True,
            help="Whose average training loss average_threshold takes; shadows: those of --shadows.",
        ),
        click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed."),
        jobs,
        engine,
        address,
        quiet,
        as_json,
    ]
    command = cover_options(command)
    for option in reversed(options):
        command = option(command)
    return command


def _size_options(required: bool):
    def add(command):
        default = ""
        if not required:
            default = "  [default: all]"
        for side in ("nonmembers", "members"):
            command = click.option(
                f"--{side}", type=WholeNumber(1), required=required, help=f"How many {side} are drawn.{default}"
            )(command)
        return command

    return add


@game.command()
@_size_options(required=False)
@click.option(
    "--cluster", type=WholeNumber(0), default=0, show_default=True, help="From which of the two members are drawn."
)
@_shared_options
def cluster(members, nonmembers, cluster, **options):
    """Members from one cluster of every class, non-members from the other.

    \b
    guestlist game cluster --data adult.csv --label income --members 10000 --nonmembers 10000 --out games/adult
    """

    if cluster > 1:
        raise click.UsageError(f"There is no cluster {cluster}: every class has two, 0 and 1.")
    _play(_build_game(games.Clusters, members, nonmembers, cluster), **options)


@game.command()
@_size_options(required=True)
@click.option("--column", required=True, help="The attribute; models do not see it.")
@click.option("--value", required=True, help="Of those that have it.")
@click.option(
    "--share", type=NumberRange(0, 1, "[]"), required=True, help="Of members who have it; half of non-members do."
)
@_shared_options
def bias(members, nonmembers, column, value, share, **options):
    """An attribute that more, or fewer, of the members have than of the non-members.

    \b
    guestlist game bias --data adult.csv --label income --column sex --value Male --share 0.9 --members 5000 \\
        --nonmembers 5000 --out games/men
    """

    _play(_build_game(games.Bias, column, value, share, members, nonmembers), **options)


@game.command()
@_size_options(required=False)
@click.option("--column", required=True, help="Where a record comes from; models do not see it.")
@click.option("--members-from", required=True, help="The value of the members.")
@click.option("--nonmembers-from", help="That of the non-members.  [default: any other]")
@_shared_options
def groups(members, nonmembers, column, members_from, nonmembers_from, **options):
    """Members from one hospital, school or other source, non-members from others.

    \b
    guestlist game groups --data heart.csv --label disease --column hospital --members-from Cleveland --out games/heart
    """

    if members_from == nonmembers_from:
        raise click.UsageError(f"--members-from and --nonmembers-from are both {members_from!r}: give two sources.")
    _play(_build_game(games.Sources, column, members_from, nonmembers_from, members, nonmembers), **options)


def _build_game(game: type, *options):
    """Build a game; an invalid option is a usage error."""
    try:
        return game(*options)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _play(game, *, data, label, drop, out, seed, jobs, engine, address, quiet, as_json, **options) -> None:

    from guestlist._audit.experiment import experiment
    from guestlist._audit.experiment_summary import ExperimentSetting
    from guestlist._report.experiment import answer, game_description
    from guestlist._util import read_table
    from guestlist.errors import InputError

    table = read_table(data)
    unknown = [name for name in (label, *drop) if name not in table.columns]
    if unknown:
        raise InputError(
            f"There is no column {unknown[0]!r} in {data}; there are {', '.join(map(str, table.columns[:20]))}."
        )
    if options["average_of"] == "shadows" and not options["shadows"]:
        raise InputError("--average-of shadows takes some: give --shadows, of 1 or more.")
    names = {field.name for field in fields(ExperimentSetting)}
    result = experiment(
        game,
        table.drop(columns=list(drop)),
        ExperimentSetting(**{name: value for name, value in options.items() if name in names}),
        label=label,
        folder=out,
        seed=seed,
        engine=build_engine(engine, jobs, address),
        progress=False if quiet or as_json else _collect.show_progress,
        about=cover_from(options),
    )
    page = result.to_html(out / "experiment.html")
    if as_json:
        print_json(result.to_dict())
        return
    click.echo(single_line(game_description(result)))
    show_table(
        [
            {
                "attack": gap.attack,
                "epsilon": "inf" if math.isinf(gap.epsilon) else f"{gap.epsilon:g}",
                "members apart": decimal(result.mean(gap.attack, gap.epsilon).value),
                "mixed": decimal(result.mean(gap.attack, gap.epsilon, "iid").value),
                "difference": decimal(gap.difference.value),
                "interval": interval(gap.difference),
            }
            for gap in result.gaps
        ]
    )
    for text in answer(result):
        click.echo(single_line(text))
    click.echo(f"Page: {page}")
