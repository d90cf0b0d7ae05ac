"""Words for the figures of a comparison."""

from __future__ import annotations

from guestlist.comparing import Comparison, Difference
from guestlist.report.format import count, decimal, interval, percent

METRICS = {
    "accuracy": "accuracy on {of}",
    "auc": "AUC of {of}",
    "tpr": "members found at {fpr} FPR by {of}",
    "exposed_auc": "AUC of {of}, most exposed {share} of members",
    "exposed_tpr": "most exposed {share} of members found at {fpr} FPR by {of}",
    "calibration_error": "calibration error on {of}",
}
TOGETHER = (
    "The intervals of one model's differences hold together, at 95 %. They are about these models: another training of the "
    "same recipe would give others."
)


def metric_name(pair: Comparison, row: Difference) -> str:
    """Return the name of the compared metric."""
    share = "" if pair.most_exposed is None else percent(pair.most_exposed.share)
    return METRICS[row.what].format(of=row.of, fpr=percent(pair.fpr), share=share)


def verdict(row: Difference) -> str:
    """Return the verdict that follows from the interval."""
    if row.difference.value != row.difference.value:
        return "withheld"
    if not row.differs:
        return "no difference shown"
    return "more" if row.difference.value > 0 else "less"


def difference_cells(pair: Comparison, row: Difference) -> tuple[str, str, str, str]:
    """The first value, the second, their difference, and its interval."""
    values = (row.first.value, row.second.value, row.difference.value)
    return *(decimal(value) for value in values), interval(row.difference)  # type: ignore[return-value]


def difference_sentence(pair: Comparison) -> str:
    """Return the main difference of the second audit in one sentence."""
    rows = {(row.what, row.of): row for row in pair.differences}
    leaks = [row for row in rows.values() if row.what in ("auc", "tpr", "exposed_auc", "exposed_tpr")]
    costs = [row for key, row in rows.items() if key == ("accuracy", "non-members")]
    changes = [_change(pair, row) for row in (*leaks, *costs) if row.differs]
    if not changes:
        return f"{pair.second} against {pair.first}: no difference is shown, neither in what it gives away nor in accuracy."
    silent = "; no difference in accuracy is shown" if costs and not costs[0].differs else ""
    return f"{pair.second} against {pair.first}: {'; '.join(changes)}{silent}."


def _change(pair: Comparison, row: Difference) -> str:
    by = decimal(abs(row.difference.value))
    low, high = sorted(abs(end) for end in (row.difference.low, row.difference.high))
    way = "higher" if row.difference.value > 0 else "lower"
    return f"{metric_name(pair, row)} is {way} by {by} ({decimal(low, -1)} to {decimal(high, 1)})"


def exposed_sentence(pair: Comparison) -> str:
    """Return the number of most exposed members and the detectable difference."""
    exposed = pair.most_exposed
    if exposed is None:
        return "The most exposed members are not compared: mu chooses them, and one of the audits has too few references for it."
    few = f"{percent(exposed.share)} of {count(pair.members)} members are {count(exposed.members)}"
    chosen = "They are chosen by mu, the larger of both audits': by what references say, and compared by what the models say."
    if exposed.seen_from is None:
        return f"{few}: too few for any difference in the share that is found to have been seen. {chosen}"
    fall = percent(exposed.seen_from)
    return f"{few}: if all of them were found at first, a fall of {fall} or more would have been seen. {chosen}"


def risk_changes_sentence(pair: Comparison) -> str:
    """Return the numbers of members whose risk rose and fell."""
    changes = pair.risk_changes
    if changes is None:
        return "Whose risk rose is not told: one of the audits has too few references for mu, or did not record how sure it is."
    rose, fell = (count(len(ids)) for ids in (changes.rose, changes.fell))
    return (
        f"Of {count(changes.tested)} members, the risk (mu) of {rose} is shown to have risen and that of {fell} to have fallen; "
        f"of each list, one in {round(1 / changes.q)} or fewer is expected to be there by chance."
    )
