"""``gate``: a limit for CI."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from guestlist.cli.common import as_json

BEYOND_LIMIT = 1


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--max-tpr", multiple=True, metavar="TPR@FPR", help="Such as 0.05@0.01; may be given several times.")
@click.option("--max-auc", type=float, help="Largest AUC.")
@click.option(
    "--attack", "attacks", multiple=True, help="Hold only these against the limits.  [default: all that were run]"
)
@as_json
def gate(folder, max_tpr, max_auc, attacks, as_json):
    """Exit with status 1 if the upper end of an interval is beyond a limit: for use in CI."""
    from guestlist.gate import Limit, judge, tpr_limit
    from guestlist.report.readable import read_results
    from guestlist.store.jsonable import to_json

    try:
        limits = [tpr_limit(text) for text in max_tpr] + ([] if max_auc is None else [Limit(max_auc)])
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if not limits:
        raise click.UsageError("Give --max-tpr, --max-auc, or both.")
    results = read_results(folder)
    verdicts = [judge(results, limit, attacks) for limit in limits]
    if as_json:
        click.echo(json.dumps([to_json(verdict) for verdict in verdicts], indent=1))
    for verdict in [] if as_json else verdicts:
        click.echo(verdict)
        if verdict.pushing:
            click.echo(f"      pushed by {', '.join(verdict.pushing)}")
    sys.exit(0 if all(verdict.passed for verdict in verdicts) else BEYOND_LIMIT)
