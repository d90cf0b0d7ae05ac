"""The same calibration where the score is learnt from references, as an audit learns it, rather than from one shadow model.

References train on random halves of the records asked about: as many as the target did, and on no others. An attacker who
has them knows the records, but not which of them are members.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scipy.special import expit

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.pairs import Study, fitted, side

COUNTS = (1, 8)


@dataclass(frozen=True)
class Learnt:
    """An estimate against the shares of members, learnt from so many references.

    Args:
        rmse: for each target (value, low, high), over records, with its 95 % interval.
    """

    dataset: str
    references: int
    estimate: str
    rmse: list[tuple[float, float, float]]


def references(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Learnt]]:
    """A row per number of references and estimate; the targets are those of the other figures."""
    found: dict[tuple[int, str], list[tuple[float, float, float]]] = {}
    for seed in range(repeats):
        # The larger number first: fewer references are then the first of those, and cost nothing.
        for count in sorted(COUNTS, reverse=True):
            for name, rmse in _errors(
                study, records, place / "references" / f"{study.name}-{seed}", seed, count
            ).items():
                found.setdefault((count, name), []).append(rmse)
    return ([Learnt(study.name, *kind, found[kind]) for kind in sorted(found)],)


def _errors(study: Study, records: Records, folder: Path, seed: int, count: int) -> dict[str, tuple]:
    rows = side(study, records, seed, 0)
    members, nonmembers = rows[: study.members], rows[study.members :]
    module = fitted(study, records, members, [seed, 0])
    results = gl.audit(
        gl.torch_target(module, train=study.fit()),
        (records.x[members], records.y[members]),
        (records.x[nonmembers], records.y[nonmembers]),
        references=count,
        attacks=["nn_nasr"],
        evidence=[gl.evidence.FullAnswers()],
        folder=folder,
        seed=seed,
        jobs=1,
        duplicates="drop",
        baseline=False,
    )
    table = results.records
    member = table["member"].to_numpy()
    estimates = {
        "risk score": table["risk_risk_score"].to_numpy(),
        "`nn_nasr`": expit(table["score_nn_nasr"].to_numpy()),
    }
    return {name: tuple(map(float, gl.risks.calibration(risks, member).rmse)) for name, risks in estimates.items()}
