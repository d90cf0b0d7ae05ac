"""Every number that a command takes has limits; a value outside them is refused with exit status 2."""

import click
import pytest
from click.testing import CliRunner

from guestlist.cli import main
from guestlist.cli.common import JobCount, NumberRange, PathType, WholeNumber

BAD = ("nan", "inf", "-inf", "-1", "0", str(10**20), "", "1e400", "5 apples")


def commands(group=main, path=()):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def options(*kinds):
    return [
        (path, option)
        for path, command in commands()
        for option in command.params
        if isinstance(option, click.Option) and isinstance(option.type, kinds)
    ]


NUMBERS = options(WholeNumber, NumberRange, JobCount)


def named(case):
    path, option = case
    return f"{' '.join(path)} {option.opts[0]}"


def fits(kind, text: str) -> bool:
    """Return whether the declared limits admit a text."""
    try:
        number = int(text) if isinstance(kind, (WholeNumber, JobCount)) else float(text)
    except ValueError:
        return False
    above = number > kind.min if kind.min_open else number >= kind.min
    below = number < kind.max if kind.max_open else number <= kind.max
    return above and below and not (isinstance(kind, JobCount) and number == 0)


def test_every_number_is_of_a_kind_with_limits():
    plain = options(click.types.IntParamType, click.types.FloatParamType)
    assert {named(case) for case in plain} == {named(case) for case in NUMBERS}
    assert len(NUMBERS) > 40
    assert not any(fits(option.type, str(10**20)) for _, option in NUMBERS)


@pytest.mark.parametrize("case", NUMBERS, ids=named)
def test_a_number_outside_its_range_is_refused(case):
    path, option = case
    name, refused = option.opts[0], [text for text in BAD if not fits(option.type, text)]
    assert {"nan", "inf", str(10**20), ""} <= set(refused)
    for text in refused:
        result = CliRunner().invoke(main, [*path, name, text])
        assert result.exit_code == 2, (text, result.output)
        assert isinstance(result.exception, SystemExit)
        assert f"Invalid value for '{name}'" in result.output, (text, result.output)


@pytest.mark.parametrize(
    ("arguments", "maximum"),
    [
        (["audit", "--references", str(10**20)], "is too large. The maximum is 100,000."),
        (["audit", "--references", "100001"], "100001 is too large. The maximum is 100,000."),
        (["audit", "--seed", str(10**20)], "is too large. The maximum is 9,223,372,036,854,775,807."),
        (["knn", "onion", "--k", str(10**20)], "is too large. The maximum is 1,000,000,000."),
        (["audit", "--jobs", "5000"], "5000 is too large. The maximum is 1,024."),
        (["dp", "--clip", "1e10"], "10000000000.0 is too large. The maximum is 1,000,000,000."),
        (["audit", "--references", "-1"], "-1 is not in the range x>=0."),
    ],
)
def test_a_number_above_the_maximum_is_refused_with_the_maximum(arguments, maximum):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert maximum in result.output


@pytest.mark.parametrize("case", options(PathType), ids=named)
def test_an_empty_path_is_refused(case):
    path, option = case
    result = CliRunner().invoke(main, [*path, option.opts[0], ""])
    assert result.exit_code == 2
    assert f"Invalid value for '{option.opts[0]}'" in result.output


def test_every_path_is_of_our_kind():
    assert {named(case) for case in options(click.Path)} == {named(case) for case in options(PathType)}
