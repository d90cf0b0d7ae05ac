"""``gate``: check limits in CI."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from guestlist import _store
from guestlist.cli.common import as_json, check_parent_folder, print_json
from guestlist.cli.options import FILE, PATH, NumberRange

BEYOND_LIMIT = 1


@click.command()
@click.argument("folder", type=PATH)
@click.option("--max-tpr", multiple=True, metavar="TPR@FPR", help="Such as 0.05@0.01; may be given several times.")
@click.option("--max-auc", type=NumberRange(0, 1, "(]"), help="Largest AUC.")
@click.option("--max-advantage", type=NumberRange(0, 1, "(]"), help="Largest advantage, TPR - FPR.")
@click.option(
    "--attack", "attacks", multiple=True, help="Hold only these against the limits.  [default: all that were run]"
)
@click.option(
    "--without-references",
    is_flag=True,
    help="Let figures pass although no attack compared with references, which find far more.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="CODE",
    help="Code of a check, e.g. GL106, that does not fail the gate. Repeatable.",
)
@click.option(
    "--policy",
    "path",
    type=PATH,
    metavar="FILE.toml",
    help="All of the above and more from a file, which is kept in the results with its hash; see docs/gate.md.",
)
@click.option(
    "--show-ids", is_flag=True, help="Name the members that push a figure up: not for a log that others read."
)
@click.option("--junit", type=FILE, metavar="FILE.xml", help="Also as JUnit XML.")
@click.option("--sarif", type=FILE, metavar="FILE.sarif", help="Also as SARIF, for code scanning.")
@click.option("--annotate", is_flag=True, help="Also as annotations of a GitHub Actions run; not with --json.")
@as_json
def gate(
    folder,
    max_tpr,
    max_auc,
    max_advantage,
    attacks,
    without_references,
    ignore,
    path,
    show_ids,
    junit,
    sarif,
    annotate,
    as_json,
):
    """Exit with status 1 if an interval exceeds a limit, or if the audit may have missed a leak."""
    from guestlist._audit.gate import Policy, evaluate_policy, evaluate_policy_file, read_policy, write_gate
    from guestlist._findings.results import read_results
    from guestlist._report import gate as words

    _check_paths(junit, sarif)
    if annotate and as_json:
        raise click.UsageError("--annotate cannot be combined with --json: both write to stdout.")
    options = {"max_auc": max_auc, "max_advantage": max_advantage, "max_tpr": max_tpr or None}
    limits = {name: limit for name, limit in options.items() if limit is not None}
    if path is not None:
        if limits or attacks or without_references or ignore:
            raise click.UsageError(
                "--policy cannot be combined with --max-*, --attack, --without-references or --ignore. Put them into the policy "
                "file."
            )
        gated = evaluate_policy_file(read_results(folder), read_policy(path))
        write_gate(folder, gated)
        if (folder / "report.html").exists():  # it shows what is in the results
            read_results(folder).to_html(folder / "report.html")
    else:
        if not limits:
            raise click.UsageError("Give --max-tpr, --max-auc, --max-advantage, or --policy.")
        try:
            policy = Policy(**limits, without_references=without_references, ignore=ignore)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        gated = evaluate_policy(read_results(folder), policy, attacks)
    _write(gated, junit, sarif, folder)
    if not show_ids:
        gated = replace(gated, verdicts=tuple(replace(verdict, drivers=()) for verdict in gated.verdicts))
    if as_json:
        print_json(_store.to_json(gated))
    else:
        _show(gated, words, show_ids)
    if annotate:
        _annotate(gated)
    sys.exit(0 if gated.passed else BEYOND_LIMIT)


def _check_paths(junit: Path | None, sarif: Path | None) -> None:
    """Check the output files before anything is evaluated or stored."""
    for path in filter(None, (junit, sarif)):
        check_parent_folder(path)
    if junit is not None and sarif is not None and os.path.realpath(junit) == os.path.realpath(sarif):
        raise click.UsageError(
            f"--junit and --sarif are two files, and both are {sarif}: the one would overwrite the other."
        )


def _write(gated, junit: Path | None, sarif: Path | None, folder: Path) -> None:
    from guestlist._report import exports

    if junit is not None:
        _store.write_text(junit, exports.junit(gated))
    if sarif is not None:
        _store.write_text(sarif, exports.sarif(gated, _relative(folder / "results.json")))


def _annotate(gated) -> None:
    from guestlist._report import exports

    click.echo(exports.annotations(gated), nl=False)


def _relative(path: Path) -> Path:
    """Return a path relative to the current folder, which in CI is the repository, if it is below it."""
    absolute = Path(os.path.abspath(path))
    if not absolute.is_relative_to(Path.cwd()):
        return absolute
    return absolute.relative_to(Path.cwd())


def _show(gated, words, show_ids: bool) -> None:
    from guestlist._report.wording import sanitize_value

    gated = sanitize_value(type(gated), gated)  # names are what others wrote
    for verdict in gated.verdicts:
        click.echo(words.limit_text(verdict))
        if show_ids and words.drivers_phrase(verdict):
            click.echo(f"      {words.drivers_phrase(verdict)}")
    for demand in gated.demands:
        click.echo(words.demand_text(demand))
    for check in gated.checks:
        click.echo(words.open_check_text(check))
    if gated.sha256:
        click.echo(words.policy_sentence(gated))
