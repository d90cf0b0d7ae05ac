"""What the sweeps of defences say, in words: which figure goes where, and whether it does so in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from papers.shapr.comparison import listed, told
from papers.shapr.data import SOURCES
from papers.shapr.noise import ASKED, CLEAN, KNOWN, NOISY, TRAINED
from papers.shapr.published import CLEAN_RISES, CORRELATIONS
from papers.shapr.removal import HIGHEST
from papers.shapr.spread import LEVEL

HIGHER, LOWER = "higher", "lower"
REGULARISED = {
    "shapr": "SHAPr of all members", "at_risk": "SHAPr of those at risk", "outputs": "SHAPr in the outputs",
    "score": "the risk score", "attack": "the attack's accuracy",
}  # fmt: skip
RISKS = {"shapr": "SHAPr", "score": "risk score"}


def regularisation_said(rows: Sequence[dict]) -> str:
    """Whether SHAPr falls with the weight, as in the paper, and whether it goes with the attack or with utility."""
    lines = []
    for dataset in _datasets(rows):
        figures = [row["figures"] for row in rows if row["dataset"] == dataset and row["weight"]]
        said = "; ".join(f"{name} is {_sides([one[key] for one in figures])}" for key, name in REGULARISED.items())
        attack, test = (sum(told(one["shapr"]) == told(one[key]) for one in figures) for key in ("attack", "test"))
        opposite = sum({told(one["shapr"]), told(one["attack"])} == {HIGHER, LOWER} for one in figures)
        name = _paper(dataset)
        lines.append(
            f"* {name}, of {len(figures)} weights, against none: {said}. The paper's SHAPr falls.\n"
            f"* {name}: SHAPr of all members goes the way of the attack's accuracy at {attack} of {len(figures)} weights, the "
            f"opposite way at {opposite}, and the way of the test accuracy at {test}."
        )
    return "\n".join(lines) + "\n"


def removal_said(rows: Sequence[dict]) -> str:
    """Whether those who remain are safer than before, and than after a removal at random."""
    lines = []
    for dataset in _datasets(rows):
        some = [row for row in rows if row["dataset"] == dataset and row["by"] == HIGHEST]
        figures = {
            "their SHAPr": [row["after"]["shapr"] for row in some],
            "the attack's accuracy on them": [row["after"]["attack"] for row in some],
            "the target's test accuracy": [row["after"]["test"] for row in some],
        }
        said = "; ".join(f"{name} is {_sides(figure)}" for name, figure in figures.items())
        beside, course = _sides([row["attack"] for row in some]), _course([scaled(row) for row in some])
        name = _paper(dataset)
        lines.append(
            f"* {name}, of {len(some)} shares, for the members who remain after those with the highest SHAPr are gone, against "
            f"the same members before: {said}.\n"
            f"* {name}: against as many removed at random, the attack's accuracy is {beside}.\n"
            f"* {name}: where it is not times members, SHAPr of those who remain {course} from share to share. The paper finds "
            "no consistent trend."
        )
    return "\n".join(lines) + "\n"


def scaled(row: dict) -> float:
    """SHAPr after a removal times the number of members that there were before: the paper's, up to one constant."""
    return row["after"]["shapr"]["mean"] / (1 - row["share"])


def noise_said(rows: Sequence[dict]) -> str:
    """Figures 6 and 7: the largest noise against none."""
    lines = []
    for dataset in _datasets(rows):
        some = [row for row in rows if row["dataset"] == dataset]
        largest = max(row["size"] for row in some)
        last = {(row["half"], row["asked"]): row["figures"] for row in some if row["size"] == largest}

        def said(half: str, asked: str, figure: str, last: dict = last) -> str:
            return _went(last[half, asked][figure])

        clean = "higher" if _paper(dataset) in CLEAN_RISES else "no consistent trend"
        lines.append(
            f"* {_paper(dataset)}: SHAPr of the noisy half {said(NOISY, TRAINED, 'shapr')} (paper lower), of the clean half "
            f"{said(CLEAN, TRAINED, 'shapr')} (paper: {clean}); attack on the noisy half, asked as trained on, "
            f"{said(NOISY, TRAINED, 'attack')}, asked as known {said(NOISY, KNOWN, 'attack')} (paper lower), on the clean half "
            f"{said(CLEAN, TRAINED, 'attack')}; test accuracy {said(CLEAN, TRAINED, 'test')}."
        )
    return "\n".join(lines) + "\n"


def not_run(rows: Sequence[dict]) -> str:
    """The datasets that a sweep leaves out."""
    return f"Not run on {listed([source.paper for name, source in SOURCES.items() if name not in _datasets(rows)])}.\n"


def correlations_said(rows: Sequence[dict]) -> str:
    """Table X: on which datasets a correlation has the paper's sign."""
    lines = []
    for risk, name in RISKS.items():
        for asked in ASKED[risk]:
            some = [row for row in rows if (row["risk"], row["asked"]) == (risk, asked)]
            theirs = {row["dataset"]: CORRELATIONS[_paper(row["dataset"])][list(RISKS).index(risk)] for row in some}
            known = [row for row in some if row["r"] is not None]
            same = [_paper(row["dataset"]) for row in known if row["r"] * theirs[row["dataset"]] > 0]
            other = [_paper(row["dataset"]) for row in known if row["r"] * theirs[row["dataset"]] <= 0]
            sure = [_paper(row["dataset"]) for row in known if row["p"] < LEVEL]
            lines.append(
                f"* {name}, asked {asked}: the paper's sign on {listed(same)}; the other one on {listed(other)}. Told from 0 "
                f"at the level of 5 %: {listed(sure)}."
            )
    return "\n".join(lines) + "\n"


def _went(figure: dict) -> str:
    """What a test says, or, with one repeat, where the figure went without one."""
    if figure["p"] is not None or not figure["difference"]:
        return told(figure)
    return f"{HIGHER if figure['difference'] > 0 else LOWER} (one repeat, not tested)"


def _course(values: Sequence[float]) -> str:
    steps = [after - before for before, after in pairwise(values)]
    if all(step > 0 for step in steps):
        return "always rises"
    return "always falls" if all(step < 0 for step in steps) else "both rises and falls"


def _sides(figures: Sequence[dict]) -> str:
    lower, higher = (sum(told(one) == side for one in figures) for side in (LOWER, HIGHER))
    return f"lower at {lower}, higher at {higher}"


def _datasets(rows: Sequence[dict]) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in rows))


def _paper(dataset: str) -> str:
    return SOURCES[dataset].paper
