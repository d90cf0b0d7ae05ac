"""Calibration of scores fitted on references, as in an audit, instead of one shadow model.

References train on random halves of the evaluated records: the same number as the target, and on no others. An attacker who
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
    """Calibration of an estimate that is fitted on a number of references.

    Args:
        rmse: for each target (value, low, high), over records, with its 95 % interval.
    """

    dataset: str
    references: int
    estimate: str
    rmse: list[tuple[float, float, float]]


def references(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Learnt]]:
    """Return one row per number of references and estimate; the targets are those of the other figures."""
    rmse_by_kind: dict[tuple[int, str], list[tuple[float, float, float]]] = {}
    for seed in range(repeats):
        # The larger number comes first: fewer references are a subset of those, and need no training.
        for count in sorted(COUNTS, reverse=True):
            for name, rmse in _errors(
                study, records, cache / "references" / f"{study.name}-{seed}", seed, count
            ).items():
                rmse_by_kind.setdefault((count, name), []).append(rmse)
    return ([Learnt(study.name, *kind, rmse_by_kind[kind]) for kind in sorted(rmse_by_kind)],)


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
        evidence=[gl.evidence.FullOutputs()],
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
