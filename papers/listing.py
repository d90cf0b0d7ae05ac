"""Help of a paper's commands: what each computes, and how long the run of its committed result took."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterable

from papers.pages import Page

WIDTH = 100  # columns of a line of help


class CommandParser(argparse.ArgumentParser):
    """Parser whose help ends with a list of commands, which is made only when help is printed.

    Args:
        page: function that returns the paper's page.
        commands: names of the commands with a result.
        others: other commands to their descriptions.
    """

    def __init__(self, page: Callable[[], Page], commands: Iterable[str], others: dict[str, str], **options):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self.page = page
        self.commands = tuple(commands)
        self.others = others
        self.add_argument("command", metavar="COMMAND", choices=[*self.commands, *others], help="see the list below")

    def format_help(self) -> str:
        lines = command_lines(self.page(), self.commands)
        lines += [f"  {name:18} {'':>8}  {text}" for name, text in self.others.items()]
        self.epilog = "commands, seconds of the committed run, content:\n" + "\n".join(lines)
        return super().format_help()


def command_lines(page: Page, commands: Iterable[str]) -> list[str]:
    """Return name, seconds of the committed result and the rows of the page that use it, for each command."""
    lines = []
    for name in commands:
        rows = [f"{row.where} ({row.what})" for row in page.rows if name in row.results]
        seconds = page.seconds.get(name)
        time = f"{seconds:,.0f} s" if seconds is not None else "not run"
        other = "no committed result" if seconds is None else "control of another row"
        content = "; ".join(rows) or other
        first = f"  {name:18} {time:>8}  "
        lines += textwrap.wrap(content, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
    return lines
