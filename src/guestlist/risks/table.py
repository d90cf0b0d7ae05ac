"""Facts about risks: the table of records, the command line and the docs read this table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from guestlist._case import Case, has_labels
from guestlist._util import close_matches, read_table
from guestlist.errors import InputError
from guestlist.risks import memorisation, model_internal, score
from guestlist.risks.memorisation import WithInterval

DUDDU = "Duddu et al. 2022"
WAKA = "Mesana et al. 2024"
SONG = "Song & Mittal 2021"


@dataclass(frozen=True, kw_only=True)
class Risk:
    """A measure of how exposed each record is, known to the model owner and not to an attacker.

    Args:
        risk: Function from a case to (records,) values that rise with exposure, with or without intervals; NaN where a record
            has none.
        summary, paper, cost: Texts for tables.
        needs: Signals it reads; a target without them has no such risk.
        evidence: Type of evidence that it reads, if any; an audit without it has no such risk.
        part: Name of the value it reads, if the evidence holds several values by name.
        outputs: True if it reads the target's probabilities of all classes next to the labels.
        references: Smallest number of reference models it needs.
        default: True if an audit computes it by default; slow risks are opt-in.
        recommended: True for the risk to examine first, of those that rank members.
        fitted_on_target: True if it is estimated from all of the target's own members and non-members, so that it shares their
            noise with other such estimates.
        threshold: A record with a larger value is at risk, if the risk has its own threshold.
        bounds: Smallest and largest possible value, if bounded.
    """

    risk: Callable[[Case], np.ndarray | WithInterval]
    summary: str
    paper: str
    cost: str
    needs: tuple[str, ...] = ()
    evidence: str = ""
    part: str = ""
    outputs: bool = False
    references: int = 0
    default: bool = True
    recommended: bool = False
    fitted_on_target: bool = False
    threshold: float | None = None
    bounds: tuple[float, float] | None = None

    def possible(self, case: Case) -> bool:
        """Return True if a case has the inputs of this risk."""
        return not self.lacking(case)

    def lacking(self, case: Case) -> dict[str, str]:
        """Return each input of this risk that a case lacks, and what an audit that has it needs."""
        missing = {}
        if case.view.references < self.references:
            more = f"references={self.references} (--references {self.references}) or more"
            missing[f"{self.references} reference models"] = more
        if self.evidence and not self._is_enough(case.evidence(self.evidence)):
            name = " of ".join(repr(name) for name in (self.evidence, self.part) if name)
            missing[f"the evidence {name}"] = f"evidence= (--evidence {self.evidence})"
        signals = [signal for signal in self.needs if signal not in case.view.values]
        if signals or (self.outputs and (case.view.outputs is None or not has_labels(case))):
            name = f"the signals {', '.join(signals)}" if signals else "the target's probabilities with labels"
            missing[name] = "labels and a model that outputs probabilities"
        return missing

    def _is_enough(self, evidence: Any) -> bool:
        return evidence is not None and (not self.part or self.part in evidence.values)


# With fewer references, most records have at most two IN, or at most two OUT, references.
MIN_REFERENCES = 8

RISKS: dict[str, Risk] = {
    "risk_score": Risk(
        risk=score.from_references,
        summary="probability of membership, given the modified entropy and the class; fitted on reference models",
        paper=SONG,
        cost="nothing",
        needs=("mentr",),
        references=1,
        threshold=0.5,
        bounds=(0.0, 1.0),
    ),
    "risk_score_own": Risk(
        risk=score.from_target,
        summary="the same, fitted on the target's own members and non-members: an upper bound",
        paper=SONG,
        cost="nothing",
        fitted_on_target=True,
        needs=("mentr",),
        threshold=0.5,
        bounds=(0.0, 1.0),
    ),
    "shapr": Risk(
        risk=model_internal.shapr_of_outputs,
        summary="Shapley value of a member for a 5-NN model of the outputs",
        paper=DUDDU,
        cost="a distance for each member and non-member",
        fitted_on_target=True,
        outputs=True,
        default=False,
        threshold=0.0,
    ),
    "self_waka": Risk(
        risk=partial(model_internal.knn_value_of_outputs, value="self_waka"),
        summary="how far a member moves the loss at itself of 5-NN models of the outputs",
        paper=WAKA,
        cost="a distance for each two members",
        fitted_on_target=True,
        outputs=True,
        default=False,
    ),
    "self_shapley": Risk(
        risk=partial(model_internal.knn_value_of_outputs, value="self_shapley"),
        summary="Shapley value of a member for itself, for a 5-NN model of the outputs",
        paper=WAKA,
        cost="a distance for each two members",
        fitted_on_target=True,
        outputs=True,
        default=False,
    ),
    "shapr_first_layer": Risk(
        risk=partial(model_internal.owner_value, evidence="spaces", name="first_layer"),
        summary="Shapley value of a member for a 5-NN model of the first layer's activations",
        paper=DUDDU,
        cost="nothing, once the evidence is collected",
        fitted_on_target=True,
        evidence="spaces",
        part="first_layer",
        threshold=0.0,
    ),
    "shapr_last_hidden": Risk(
        risk=partial(model_internal.owner_value, evidence="spaces", name="last_hidden"),
        summary="the same of the last hidden layer's",
        paper=DUDDU,
        cost="nothing, once the evidence is collected",
        fitted_on_target=True,
        evidence="spaces",
        part="last_hidden",
        threshold=0.0,
    ),
    "shapr_inputs": Risk(
        risk=partial(model_internal.owner_value, evidence="spaces", name="inputs"),
        summary="the same of the features as they are",
        paper=DUDDU,
        cost="nothing, once the evidence is collected",
        fitted_on_target=True,
        evidence="spaces",
        part="inputs",
        threshold=0.0,
    ),
    "leverage": Risk(
        risk=partial(model_internal.owner_value, evidence="leverage", name="leverage"),
        summary="how strongly the output depends on the record's own label: exact in linear models; of a network, its last layer",
        paper="Dorseuil et al. 2026",
        cost="nothing",
        evidence="leverage",
    ),
    "loss_trace": Risk(
        risk=partial(model_internal.owner_value, evidence="loss_trace", name="spread"),
        summary="interquartile range of the record's loss during training",
        paper="Pollock et al. 2024",
        cost="nothing",
        evidence="loss_trace",
    ),
    "loss_tail": Risk(
        risk=model_internal.loss_tail,
        summary="share of the members of its class that the target fits better",
        paper="Pollock et al. 2024; Dodd et al. 2025",
        cost="nothing",
        fitted_on_target=True,
        needs=("loss",),
        bounds=(0.0, 1.0),
    ),
    "alone_in_leaves": Risk(
        risk=model_internal.alone_in_leaves,
        summary="share of the trees in whose leaf no other member falls",
        paper="guestlist",
        cost="nothing",
        evidence="leaves",
        bounds=(0.0, 1.0),
    ),
    "memorisation": Risk(
        risk=memorisation.memorisation,
        summary="increase in the probability that reference models are correct on the record if trained on it",
        paper="Feldman & Zhang 2020",
        cost="references",
        references=MIN_REFERENCES,
        needs=("correct",),
        bounds=(-1.0, 1.0),
    ),
    "mu": Risk(
        risk=memorisation.mu,
        summary="by how many standard deviations training on the record raises its margin",
        paper="Carlini et al. 2022; Dong et al. 2022",
        cost="references",
        recommended=True,
        references=MIN_REFERENCES,
        needs=("margin",),
    ),
}

# It agrees most closely with the report's list of exposed records.
(RECOMMENDED,) = (name for name, row in RISKS.items() if row.recommended)


def risks_of(case: Case, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Return name to (records,) risks that the case has the inputs for: those named, or the default ones.

    Args:
        case: The audit.
        names: Names from ``RISKS``; None for the default ones.

    Returns:
        Name to risk.
    """
    risks = case.of(_default_risks) if names is None else _computable_risks(case, names)
    return {name: risk.value if isinstance(risk, WithInterval) else risk for name, risk in risks.items()}


def risk_columns(case: Case) -> dict[str, np.ndarray]:
    """Return the default risks, and the ends of their intervals as ``<name>_low`` and ``<name>_high``.

    Args:
        case: The audit.

    Returns:
        Column to (records,) values.
    """
    columns: dict[str, np.ndarray] = {}
    for name, risk in case.of(_default_risks).items():
        if isinstance(risk, WithInterval):
            columns |= {name: risk.value, f"{name}_low": risk.low, f"{name}_high": risk.high}
        else:
            columns[name] = risk
    return columns


def _default_risks(case: Case) -> dict[str, np.ndarray | WithInterval]:
    return _computable_risks(case, [name for name, row in RISKS.items() if row.default])


def _computable_risks(case: Case, names: Sequence[str]) -> dict[str, np.ndarray | WithInterval]:
    unknown = [name for name in names if name not in RISKS]
    if unknown:
        raise InputError(
            f"There is no risk {unknown[0]!r}. Available names: {close_matches(unknown[0], RISKS)}. List all with guestlist "
            "show risks."
        )
    return {name: RISKS[name].risk(case) for name in names if RISKS[name].possible(case)}


def requested_risks(case: Case, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Compute the risks that were requested, or those that an audit has by default.

    Args:
        case: The audit.
        names: Names from ``RISKS``; None for the default ones.

    Returns:
        Name to (records,) values.

    Raises:
        InputError: If a risk is unknown, or the case lacks its inputs.
    """
    values = risks_of(case, names)
    missing = [name for name in names or () if name not in values]
    if missing:
        lacking = RISKS[missing[0]].lacking(case)
        raise InputError(
            f"Risk {missing[0]!r} cannot be computed: this audit lacks {' and '.join(lacking)}. Audit again with "
            f"{' and '.join(lacking.values())}."
        )
    return values


def attack_scores(case: Case, attack: str) -> np.ndarray:
    """Return (records,) scores of an attack that was run; the error names those that were."""
    if attack not in case.scores:
        raise InputError(f"Attack {attack!r} was not run. Available names: {close_matches(attack, case.scores)}.")
    return case.scores[attack]


EVERY_MEMBER = "all_members"  # flags every member: the first row of every table of predictive values
CustomScores = Mapping[str, "np.ndarray | pd.Series"]


def custom_values(case: Case, custom: CustomScores) -> dict[str, np.ndarray]:
    """Return name to (records,) values; NaN where a record has none.

    Args:
        custom: Name to values, higher for records at greater risk: an array in the order of ``case.records``, or a pandas
            Series indexed by id.
    """
    values_by_name = {}
    for name, values in custom.items():
        if name in RISKS or name == EVERY_MEMBER:
            raise InputError(f"There is a risk {name!r} already. Rename your column.")
        convert = _by_id if isinstance(values, pd.Series) else _by_position
        values_by_name[name] = convert(case, name, values)
    return values_by_name


def read_custom(path: str | Path) -> dict[str, pd.Series]:
    """Read custom scores from a table with a column ``id``.

    Args:
        path: Path of a .csv, .tsv or .parquet file.

    Returns:
        Name of each numeric column to its values, indexed by id.

    Raises:
        InputError: If the file has no ids, repeats them, or has no numeric column.
    """
    path = Path(path)
    table = read_table(path, text=["id"])
    if "id" not in table:
        raise InputError(f"{path} has no column 'id'. Add the ids of the records in a column of this name.")
    columns = table.set_index(table["id"].astype(str)).drop(columns="id")
    scores = {str(name): _numeric_column(path, str(name), columns[name]) for name in columns}
    numeric = {name: values for name, values in scores.items() if values is not None}
    if not numeric:
        raise InputError(f"{path} has no numeric column apart from 'id'. Add a column of scores.")
    return numeric


def _numeric_column(path: Path, name: str, column: pd.Series) -> pd.Series | None:
    """Return a column as numbers, or None for texts; raise an error if only some cells are numbers."""
    values = pd.to_numeric(column, errors="coerce")
    wrong = column[values.isna() & column.notna()]
    if len(wrong) and values.notna().any():
        raise InputError(
            f"Column {name!r} of {path} holds {wrong.iloc[0]!r}, which is not a number. Fix it, or drop the record."
        )
    if len(wrong) or column.empty:
        return None
    return values.astype(np.float64)


def _by_id(case: Case, name: str, values: pd.Series) -> np.ndarray:
    ids = case.records["id"].astype(str)
    index = values.index.astype(str)
    if index.has_duplicates:
        raise InputError(f"The scores {name!r} have the id {index[index.duplicated()][0]!r} twice. Use unique ids.")
    if not ids.isin(index).any():
        raise InputError(f"The scores {name!r} have no id of the audit. Ids look like {ids.iloc[0]!r}.")
    return pd.Series(values.to_numpy(dtype=np.float64), index).reindex(ids).to_numpy()


def _by_position(case: Case, name: str, values: np.ndarray) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(case.records),):
        raise InputError(
            f"The scores {name!r} must have the shape ({len(case.records)},), one for each row of case.records; found "
            f"{array.shape}. Or pass a pandas Series whose index holds ids."
        )
    return array


def members_by_risk(case: Case, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return one row per member with its id and risks, sorted by the first risk, largest first.

    Args:
        case: The audit.
        names: Risks from ``RISKS``; by default all that an audit has. A risk that the case lacks the inputs for is an error.

    Returns:
        A table of the members.

    Raises:
        InputError: If the audit lacks the inputs of every risk, or of one that is named.
    """
    values_by_risk = requested_risks(case, names)
    if not values_by_risk:
        raise InputError("No risk can be computed from this audit. guestlist show risks lists what each risk needs.")
    member = case.truth.member & case.truth.evaluated
    members = case.records[member].drop(columns=["class", "row"], errors="ignore")
    table = members.assign(**{f"risk_{name}": values[member] for name, values in values_by_risk.items()})
    # Ties are broken by id, so that the list does not depend on the order of the records.
    order = [f"risk_{next(iter(values_by_risk))}", "id"]
    return table.sort_values(order, ascending=[False, True], kind="stable", ignore_index=True)
