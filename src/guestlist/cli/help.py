"""Help texts: commands and options in sections, and no summary cut off."""

from collections.abc import Callable

import click

# Sections of `guestlist --help`, in order.
COMMANDS = {
    "Audit": ("audit", "collect", "demo"),
    "Understand": ("report", "index", "risks", "forget", "trees", "scan", "knn", "export"),
    "Improve": ("defend", "compare", "gate"),
    "Prove": ("epsilon", "dp", "game"),
    "Tools": ("show", "selftest"),
}
# Sections of the options of a command, in order.
INPUTS = "Inputs"
ATTACKS = "Attacks"
REPORT = "Report"
RUN = "Run"
SECTIONS = (INPUTS, ATTACKS, REPORT, RUN)


class Option(click.Option):
    """Option that is listed in a section of its command's help."""

    def __init__(self, *arguments, section: str, **settings):
        super().__init__(*arguments, **settings)
        self.section = section


def option(section: str, *names: str, **settings) -> Callable:
    """Return a decorator that adds an option to a section of a command's help."""
    return click.option(*names, cls=Option, section=section, **settings)


class Command(click.Command):
    """Command that lists its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one table of options per section; options of click itself are in the last one."""
        for section in SECTIONS:
            options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
            listed = [option for option in options if getattr(option, "section", RUN) == section]
            rows = [row for option in listed if (row := option.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)


class Group(click.Group):
    """Group that lists its commands in sections, each with its whole summary."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one table of commands per section."""
        sections = COMMANDS if ctx.parent is None else {"Commands": tuple(self.commands)}
        width = max(map(len, self.commands))
        for section, names in sections.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(limit=formatter.width)) for name in names
            ]
            with formatter.section(section):
                formatter.write_dl(rows)


Group.group_class = Group
