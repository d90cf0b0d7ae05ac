"""``epsilon``: test a claimed epsilon."""

from __future__ import annotations

import click

from guestlist.cli.claim import DELTA_RANGE, EPSILON_RANGE, claim_from, gaussian_noise
from guestlist.cli.common import as_json, print_json
from guestlist.cli.kinds import PATH, SHARE


@click.command()
@click.argument("folder", type=PATH)
@click.option(
    "--delta",
    type=DELTA_RANGE,
    help="Of the promise.  [default: that of the claim kept in FOLDER, or 1e-5]",
)
@click.option(
    "--claimed",
    type=EPSILON_RANGE,
    help="The epsilon of the promise.  [default: the one kept in FOLDER, at its delta]",
)
@gaussian_noise
@click.option("--attack", help="Whose scores to look at, named before you saw them.  [default: the headline]")
@click.option(
    "--method",
    type=click.Choice(["one-run", "curve", "gaussian", "clopper-pearson", "gaussian-runs", "bayesian-runs"]),
    help="gaussian and gaussian-runs prove more, of Gaussian noise alone; bayesian-runs says what is believed, and proves "
    "nothing; the last three are for many runs.  [default: one-run, or clopper-pearson]",
)
@click.option(
    "--threshold",
    type=click.Choice(["bonferroni", "hold-out", "median"]),
    default="bonferroni",
    show_default=True,
    help="How the choice of how many records to guess about is paid for.",
)
@click.option(
    "--confidence",
    type=SHARE,
    default=0.95,
    show_default=True,
    help="Of the bound; for bayesian-runs, the probability with which it is believed.",
)
@as_json
def epsilon(folder, delta, claimed, gaussian_noise, attack, method, threshold, confidence, as_json):
    """Say what the audit in FOLDER proves about the model's epsilon, and whether a claim is contradicted.

    \b
    guestlist epsilon audits/private --delta 1e-5 --claimed 2

    Members must have been drawn by us: the folder comes from gl.play(gl.Bernoulli(0.5), …), or gl.Canaries(); many runs from
    gl.play_many.
    """
    from guestlist.findings.epsilon import DELTA, epsilon_bound
    from guestlist.findings.folder import read_case
    from guestlist.privacy import (
        BayesianRuns,
        Bonferroni,
        ClopperPearson,
        GaussianRuns,
        HoldOut,
        Median,
        OneRun,
        OneRunCurve,
    )
    from guestlist.privacy.lower import How
    from guestlist.report.sections.epsilon import epsilon_verdict
    from guestlist.store.jsonable import to_json

    methods: dict[str | None, How | None] = {
        None: None,
        "one-run": OneRun(),
        "curve": OneRunCurve(),
        "gaussian": OneRunCurve(curve="gaussian"),
        "clopper-pearson": ClopperPearson(),
        "gaussian-runs": GaussianRuns(),
        "bayesian-runs": BayesianRuns(),
    }
    thresholds: dict[str, Bonferroni | HoldOut | Median] = {
        "bonferroni": Bonferroni(),
        "hold-out": HoldOut(),
        "median": Median(),
    }
    case = read_case(folder)
    claim = case.setting.claimed
    if gaussian_noise and claimed is None:
        raise click.UsageError("--gaussian-noise says what kind of promise --claimed is: give that too.")
    if delta is None:
        delta = DELTA if claim is None else claim.delta
    if claimed is not None:
        claim = claim_from(claimed, delta, gaussian_noise)
    elif claim is not None and claim.delta != delta:  # a claim holds only at its own delta
        claim = None
    result = epsilon_bound(
        case,
        delta=delta,
        claimed=claim,
        attack=attack,
        how=methods[method],
        threshold=thresholds[threshold],
        confidence=confidence,
    )
    if as_json:
        print_json({**to_json(result), "contradicted": result.contradicted})
    else:
        click.echo(epsilon_verdict(result))
