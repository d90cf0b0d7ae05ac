"""Help: sections, whole summaries and option texts that make sense alone."""

import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from guestlist.cli import common as help_texts
from guestlist.cli import main

HEAVY = ("numpy", "pandas", "scipy", "torch", "ray", "numba", "sklearn")


def commands(group=main, path=()):
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


COMMANDS = dict(commands())
OPTIONS = [
    pytest.param(option, id=f"{' '.join(path)} {option.opts[0]}")
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option)
]


def test_every_command_is_in_one_section():
    listed = [name for names in help_texts.COMMANDS.values() for name in names]
    assert sorted(listed) == sorted(main.commands)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_summary_is_short_and_shown_whole(path):
    summary = COMMANDS[path].get_short_help_str(limit=1000)
    assert len(summary) <= 60
    assert summary.endswith(".")
    text = CliRunner().invoke(main, [*path[:-1], "--help"], terminal_width=80).output
    assert f"{path[-1]} " in text
    assert summary in text


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_is_in_a_section_and_its_text_makes_sense_alone(option):
    assert option.section in help_texts.SECTIONS
    assert option.help
    assert re.match("[A-Z]", option.help)
    assert not re.match("Of |That |Those |Whose |What |How |Who |Where ", option.help)
    assert "likewise" not in option.help
    assert not option.multiple or "Repeatable." in option.help


def test_help_lists_options_by_section():
    text = CliRunner().invoke(main, ["audit", "--help"], terminal_width=80).output
    titles = [line.rstrip(":") for line in text.splitlines() if re.fullmatch("[A-Z][a-z]+:", line)]
    assert titles == list(help_texts.SECTIONS)
    assert max(map(len, text.splitlines())) <= 80


def test_the_command_line_loads_no_heavy_library():
    script = f"import sys, guestlist.cli; sys.exit(' '.join(set(sys.modules) & set({HEAVY!r})))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert loaded.stderr == "\n"
