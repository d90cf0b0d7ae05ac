"""``gate``: check limits in CI."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from guestlist import _audit, _findings, _report, _store
from guestlist.cli.common import (
    ATTACKS,
    FILE,
    INPUTS,
    PATH,
    REPORT,
    Command,
    NumberRange,
    as_json,
    check_parent_folder,
    option,
    print_json,
    verbose,
)

BEYOND_LIMIT = 1


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@option(
    ATTACKS,
    "--max-tpr",
    multiple=True,
    metavar="TPR@FPR",
    help="Limit of the TPR at an FPR, e.g. 0.05@0.01. Repeatable.",
)
@option(ATTACKS, "--max-auc", type=NumberRange(0, 1, "(]"), help="Limit of the AUC.")
@option(ATTACKS, "--max-advantage", type=NumberRange(0, 1, "(]"), help="Limit of the advantage (TPR minus FPR).")
@option(
    ATTACKS,
    "--attack",
    "attacks",
    multiple=True,
    metavar="NAME",
    help="Attack to compare with the limits. Repeatable.  [default: all that were run]",
)
@option(
    ATTACKS,
    "--without-references",
    is_flag=True,
    help="Do not fail if the audit has no reference models. Attacks without them are weaker.",
)
@option(
    ATTACKS,
    "--ignore",
    multiple=True,
    metavar="CODE",
    help="Check that does not fail the gate, e.g. GL106. Repeatable.",
)
@option(
    INPUTS,
    "--policy",
    "path",
    type=PATH,
    metavar="FILE.toml",
    help="File with limits and requirements; see docs/gate.md. The results store it with its hash.",
)
@option(
    REPORT,
    "--show-ids",
    is_flag=True,
    help="Print the ids of the members that contribute most to a metric above its limit. Do not use it in public logs.",
)
@option(REPORT, "--junit", type=FILE, metavar="FILE.xml", help="File for the result as JUnit XML.")
@option(REPORT, "--sarif", type=FILE, metavar="FILE.sarif", help="File for the result as SARIF, for code scanning.")
@option(REPORT, "--annotate", is_flag=True, help="Print annotations for GitHub Actions too. Not used with --json.")
@verbose
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
    verbose,
    as_json,
):
    """Exit with status 1 if an audit exceeds a limit.

    A limit is exceeded if the upper end of the confidence interval is above it. The gate also fails if the audit may have
    missed a leak.

    \b
    guestlist gate audits/adult --max-tpr 0.05@0.01 --max-auc 0.6
    guestlist gate audits/adult --policy release.toml
    """
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
        gated = _audit.evaluate_policy_file(_findings.read_gate_input(folder), _audit.read_policy(path))
        _audit.write_gate(folder, gated)
        if (folder / "report.html").exists():  # the page shows the gate's verdict
            _findings.read_results(folder).to_html(folder / "report.html")
    else:
        if not limits:
            raise click.UsageError(
                "gate needs a limit. Add --max-tpr, --max-auc or --max-advantage, or --policy FILE.toml."
            )
        try:
            policy = _audit.Policy(**limits, without_references=without_references, ignore=ignore)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        gated = _audit.evaluate_policy(_findings.read_gate_input(folder), policy, attacks, name_drivers=show_ids)
    if junit is not None:
        _store.write_text(junit, _report.gate.junit(gated))
    if sarif is not None:  # in CI, the current folder is the repository
        _store.write_text(sarif, _report.gate.sarif(gated, _report.short_path(folder / "results.json")))
    if not show_ids:
        gated = replace(gated, verdicts=tuple(replace(verdict, drivers=(), tied=0) for verdict in gated.verdicts))
    if as_json:
        print_json(_store.to_json(gated))
    else:
        _show(gated, show_ids, verbose)
    if annotate:
        click.echo(_report.gate.annotations(gated), nl=False)
    sys.exit(0 if gated.passed else BEYOND_LIMIT)


def _check_paths(junit: Path | None, sarif: Path | None) -> None:
    """Check the output files before anything is evaluated or stored."""
    for path in filter(None, (junit, sarif)):
        check_parent_folder(path)
    if junit is not None and sarif is not None and os.path.realpath(junit) == os.path.realpath(sarif):
        raise click.UsageError(f"--junit and --sarif are the same file, {sarif}. Choose two files.")


MAX_LINES = 10


def _show(gated, show_ids: bool, verbose: bool) -> None:
    """Print the verdict and what fails; with ``verbose``, also what passes."""
    gated = _report.sanitize_value(type(gated), gated)  # names may contain text of other users
    words = _report.gate
    lines = words.gate_lines(gated)
    failed = sum(line.state == "FAIL" for line in lines)
    passed = sum(line.state == "pass" for line in lines)
    click.echo(f"{words.gate_title(gated)} ({failed} failed, {passed} passed)")
    printed = lines if verbose else [line for line in lines if line.state != "pass"][:MAX_LINES]
    for line in printed:
        click.echo(line)
    hidden = len(lines) - len(printed)
    if show_ids:
        for verdict in gated.verdicts:
            if words.drivers_phrase(verdict):
                click.echo(f"{words.limit_name(verdict.limit)}, {verdict.attack}: {words.drivers_phrase(verdict)}")
    if hidden:
        click.echo(f"{hidden} more lines: add --verbose.")
    if gated.sha256:
        click.echo(words.policy_sentence(gated))
