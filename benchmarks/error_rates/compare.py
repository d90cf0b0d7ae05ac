"""``python -m benchmarks.error_rates.compare``: false claims of a difference between two equal models.

Both models have one distribution for every record: margins of references and of the target are drawn, and determine all inputs
of a comparison. The most exposed members are selected by plain estimates of mu, which regress further than shrunken ones.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import guestlist as gl
from guestlist._audit.compare import count_of
from guestlist._findings.headline import Headline
from guestlist._kernels.moments import moments
from guestlist.metrics import auc_difference
from guestlist.risks import standardised_difference
from guestlist.risks.memorisation import effects

HERE = Path(__file__).parent
ATTACK = "lira"
REFERENCES = 16

# Function from a generator, membership and LiRA's log-odds to scores.
Draw = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]
DISTRIBUTIONS: dict[str, Draw] = {
    "smooth": lambda rng, member, odds: odds,
    "no leak": lambda rng, member, odds: rng.normal(size=len(member)),
    "two values": lambda rng, member, odds: (odds > 0).astype(float),
    "separated": lambda rng, member, odds: member + 0.1 * rng.random(len(member)),
    "mostly equal": lambda rng, member, odds: np.where(rng.random(len(member)) < 0.9, 0.0, odds),
}


def two_audits(
    distribution: str,
    records: int,
    rng: np.random.Generator,
    *,
    gain: float = 0.0,
    fall: float = 0.0,
    rise: int = 0,
    each: int = 1,
) -> dict[str, gl.Results]:
    """Return two audits of the same records, some of which are easier, and some memorised.

    Args:
        gain: gain in the second model's accuracy.
        fall: share by which its mu is smaller.
        rise: number of members, the first, whose mu is larger by 3.
        each: number of records of one person.
    """
    person = np.arange(records) // each
    member, easy = person % 2 == 0, rng.beta(2, 1, person.max() + 1)[person]
    mu = np.where(rng.random(records) < 0.05, 4.0, rng.exponential(0.4, records))
    base, audits = rng.normal(size=records), []
    for accuracy_gain, less, up in ((0.0, 0.0, 0), (gain, fall, rise)):
        model_mu = mu * (1 - less)
        model_mu[np.flatnonzero(member)[:up]] += 3.0
        table = {
            "id": [f"r{i}" for i in range(records)],
            "label": "0",
            "member": member,
            "correct": (rng.random(records) < np.clip(easy + accuracy_gain, 0, 1)).astype(float),
            "confidence": np.clip(easy + 0.1 * rng.normal(size=records), 0, 1),
            **_from_references(distribution, rng, base, model_mu, member),
        }
        table |= {"person": person} if each > 1 else {}
        audits.append(gl.Results(headline=Headline(ATTACK, "fixed", 0, None), records=pd.DataFrame(table)))
    return dict(zip(("plain", "other"), audits, strict=True))


def _from_references(
    distribution: str, rng, base: np.ndarray, mu: np.ndarray, member: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the scores of the target, and estimates of mu from its references."""
    inside = rng.random((REFERENCES, len(base))) < 0.5
    margin = base + mu * inside + rng.normal(size=inside.shape)
    estimated = effects(moments(margin, inside), moments(margin, ~inside))
    first, second = (effects(moments(margin[k::2], inside[k::2]), moments(margin[k::2], ~inside[k::2])) for k in (0, 1))
    target_margin = base + mu * member + rng.normal(size=len(base))
    at = moments(margin, ~inside).mean
    odds = np.nan_to_num(estimated.unbiased * (target_margin - at - estimated.unbiased / 2))
    return {
        f"score_{ATTACK}": DISTRIBUTIONS[distribution](rng, member, odds),
        "risk_mu": estimated.unbiased,
        "mu_estimate": estimated.unbiased,
        "mu_error": estimated.error,
        "mu_halves": standardised_difference(first.unbiased, first.error, second.unbiased, second.error),
    }


def claims(distribution: str, records: int, repeats: int, seed: int = 0, **changes) -> dict[str, float]:
    """Return the shares of repeats in which a difference is claimed."""
    counts = dict.fromkeys(
        ("any metric", "most exposed", "most exposed, selected by the first audit's scores", "risen", "fallen"), 0
    )
    for k in range(repeats):
        audits = two_audits(distribution, records, np.random.default_rng([seed, k, *distribution.encode()]), **changes)
        (results,) = gl.compare(audits)
        assert results.risk_changes is not None
        counts["any metric"] += any(row.differs for row in results.differences)
        counts["most exposed"] += any(row.differs for row in results.differences if row.metric.startswith("exposed"))
        counts["most exposed, selected by the first audit's scores"] += selected_by_first(audits)
        counts["risen"] += bool(results.risk_changes.rose)
        counts["fallen"] += bool(results.risk_changes.fell)
    return {name: count / repeats for name, count in counts.items()}


def selected_by_first(audits: dict[str, gl.Results]) -> bool:
    """Return whether members selected by the first audit's scores appear less exposed in the second: an invalid method."""
    first, second = (result.records for result in audits.values())
    assert first is not None
    assert second is not None
    member = first["member"].to_numpy()
    scores = [table[f"score_{ATTACK}"].to_numpy() for table in (second, first)]
    top = np.flatnonzero(member)[np.argsort(-scores[1][member], kind="stable")[: count_of(int(member.sum()))]]
    rows = ~member
    rows[top] = True
    gap = auc_difference(scores[0][rows], scores[1][rows], member[rows])
    return not gap.low <= 0 <= gap.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument(
        "--distribution",
        choices=DISTRIBUTIONS,
        action="append",
        help="distributions to run; the others keep their results",
    )
    options = parser.parse_args()
    path = HERE / "compare.json"
    stored = json.loads(path.read_text("utf-8"))["equal"] if path.exists() else {}
    for distribution in options.distribution or DISTRIBUTIONS:
        results = claims(distribution, options.records, options.repeats)
        stored[distribution] = {"repeats": options.repeats, "records": options.records}
        stored[distribution] |= {name: round(share, 4) for name, share in results.items()}
        print(distribution, stored[distribution], flush=True)
        content = {"command": "python -m benchmarks.error_rates.compare", "references": REFERENCES, "equal": stored}
        path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
