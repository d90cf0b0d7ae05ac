"""Options for a claimed epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from guestlist.cli.kinds import MAX_NUMBER, NumberRange

if TYPE_CHECKING:
    from guestlist.privacy import Claim

DELTA = 1e-5
EPSILON_RANGE = NumberRange(0, MAX_NUMBER, "[]")
DELTA_RANGE = NumberRange(0, 1, "[)")
gaussian_noise = click.option(
    "--gaussian-noise",
    is_flag=True,
    help="The promise is that of Gaussian noise, which allows less than epsilon and delta alone.",
)


def claim_options(command):
    """Add the options of a claim, which the report compares with the attacks."""
    for option in (
        gaussian_noise,
        click.option("--delta", type=DELTA_RANGE, help=f"Of the promise.  [default: {DELTA:g}]"),
        click.option(
            "--claimed",
            type=EPSILON_RANGE,
            metavar="EPSILON",
            help="That is promised of the model: what it allows attacks is drawn beside what they reach.",
        ),
    ):
        command = option(command)
    return command


def claim_from(claimed: float | None, delta: float | None, gaussian_noise: bool) -> Claim | None:
    """Build the claim from its options; None where none is given."""
    if claimed is None:
        if delta is not None or gaussian_noise:
            raise click.UsageError("--delta and --gaussian-noise say more of the promise of --claimed: give that too.")
        return None
    if delta is None:
        delta = DELTA
    if gaussian_noise and delta == 0:
        raise click.UsageError("At --delta 0 Gaussian noise promises nothing: give one above 0.")
    from guestlist.privacy import Claim

    return Claim(claimed, delta, gaussian_noise)
