"""The most exposed members and persons under the headline attack, flagged ones first."""

import math
from dataclasses import replace

from guestlist._findings import Results, Subject
from guestlist._report import Chart, Section, Series, fill_template, score_chart, wording
from guestlist._util import compact, count, percent

NOT_THE_TRAINING_SET = (
    "No record is listed: these records may not be the training set of this model (GL129), so nothing here shows that one "
    "of them is exposed."
)
P_VALUES = {"p_exposure": "distance p-value", "p_distance": "distance p-value", "p_value": "p-value among non-members"}
MIN_LISTED = 10  # minimum number of records in the table, if available
MAX_LISTED = 20


def section(results: Results) -> Section | None:
    """Render the scores, and the tables of exposed records and persons; None where there are none."""
    if not results.exposed and results.exposure_summary is None and not results.exposed_persons:
        return None
    flagged = sum(bool(record.flagged) for record in results.exposed or ())
    listed = (results.exposed or ())[: min(max(flagged, MIN_LISTED), MAX_LISTED)]
    first = next(iter(listed), None)
    charts = _exposure_chart(results)
    body = fill_template(
        "exposed.html",
        exposed=listed,
        charts=charts,
        persons=(results.exposed_persons or ())[:MIN_LISTED],
        labels=any(record.label for record in listed),
        groups=sorted(first.groups) if first else (),
        risks=sorted(first.risks) if first else (),
        features=tuple(first.features) if first else (),
        flagged=first is not None and first.flagged is not None,
        distances=first is not None and first.p_distance is not None,
        gaps=_has_gaps(results),
        nan=math.nan,
        caption=table_caption(results),
        compared=has_model_p_values(results),
        explanation=p_value_explanation(results) if listed else "",
        persons_caption=persons_explanation(results),
        persons_compared=_persons_have_model_p_values(results),
        guarantee=flag_guarantee(results),
    )
    return Section("exposed", exposed_title(results), body, charts)


def _exposure_chart(results: Results) -> dict[str, Chart]:
    """Draw the scores of members and non-members, with a mark for each flagged record."""
    attack = wording.headline_attack(results)
    if attack is None or not attack.histogram.members:
        return {}
    chart = score_chart(attack)
    scores = [record.score for record in results.exposed or () if record.flagged and math.isfinite(record.score)]
    if scores:
        height = max(attack.histogram.members) / 20
        marks = Series("flagged records", tuple(scores), (height,) * len(scores), "ink", mark="triangle-down")
        chart = replace(chart, series=(*chart.series, marks))
    return {"exposure": chart}


def has_model_p_values(results: Results) -> bool:
    """Return True if records were compared with their scores under models not trained on them."""
    return any(record.p_among_models is not None for record in results.exposed or ())


def table_caption(results: Results) -> str:
    """Return the caption of the table: its records, their order, and the number that chance would give."""
    if not results.exposed:
        return no_records_reason(results)
    attack = results.headline.name if results.headline else "the headline attack"
    extreme = "smallest p-values" if has_model_p_values(results) else "highest scores"
    return wording.paragraph(
        f"Members with the {extreme} under {attack}{_sorting(results)}; records.parquet has all.",
        small_p_values_sentence(results),
        _ties_sentence(results),
    )


def _sorting(results: Results) -> str:
    """Describe how the table is sorted; empty for results of earlier versions, which do not show it."""
    if not has_model_p_values(results):
        return ", sorted by score"
    if not _has_gaps(results):
        return ""
    flagged = wording.only_if(any(record.flagged for record in results.exposed or ()), " flagged members first,")
    return f",{flagged} sorted by distance p-value, then by gap"


def _has_gaps(results: Results) -> bool:
    return any(record.gap is not None for record in results.exposed or ())


def no_records_reason(results: Results) -> str:
    """Explain why no record is listed."""
    check = results.check("GL129")
    if check is not None and check.state == "issue":
        return NOT_THE_TRAINING_SET
    exposure = results.exposure_summary
    if exposure is None:
        return ""
    if exposure.left_out:
        return (
            f"No record is listed: {wording.counted(exposure.left_out, 'member')} share the first rank. All are in "
            "records.parquet."
        )
    members = wording.counted(exposure.members, "member")
    return (
        f"No record is listed: none of {members} has a {_p_value(results)} of {compact(exposure.alpha)} or less. Records may "
        "still be exposed to another attack, or by less than this audit can detect."
    )


def small_p_values_sentence(results: Results) -> str:
    """Report how many members have a small p-value, and how many chance would give."""
    exposure = results.exposure_summary
    if exposure is None:
        return ""
    have = wording.plural(exposure.small, "has", "have")
    by_chance = count(max(exposure.alpha * exposure.members, 1))
    return (
        f"{count(exposure.small)} of {wording.counted(exposure.members, 'member')} {have} a {_p_value(results)} of "
        f"{compact(exposure.alpha)} or less; chance would give about {by_chance}."
    )


def _p_value(results: Results) -> str:
    return P_VALUES.get(results.exposure_summary.column if results.exposure_summary else "", "p-value")


def _ties_sentence(results: Results) -> str:
    """Report ties, among the listed records and after them."""
    exposure = results.exposure_summary
    sentences = []
    tied = sum(record.tied > 1 for record in results.exposed or ())
    if tied:
        sentences.append(f"{count(tied)} of them are tied with others, and are sorted by id.")
    if exposure is not None and exposure.left_out:
        sentences.append(
            f"{wording.counted(exposure.left_out, 'member')} tied for the next rank are not listed; they are in records.parquet."
        )
    return " ".join(sentences)


def exposed_title(results: Results) -> str:
    """Return the heading.

    Records are called exposed only if some are flagged or, without flags, if the attack beats guessing.
    """
    attack = wording.headline_attack(results)
    if not results.exposed and results.exposure_summary is not None:
        return "Most exposed records: none listed"
    if not has_model_p_values(results):
        return "Members with the highest scores"
    if results.exposure is None:
        exposed = attack is not None and attack.beats_guessing
        if exposed:
            return "Most exposed records"
        return "Members with the smallest p-values"
    if results.exposure.flagged:
        return "Most exposed records"
    return "Members with the smallest p-values: none flagged"


def p_value_explanation(results: Results) -> str:
    """Explain the p-values of the records."""
    if results.subject is None:
        return ""
    if has_model_p_values(results):
        return model_p_value_explanation(results)
    return nonmember_p_value_explanation(results.subject)


def model_p_value_explanation(results: Results) -> str:
    """Explain the comparison of a record with its own scores under other models."""
    models = max(record.models or 0 for record in results.exposed or ())
    return (
        "Each record is compared with its own scores under models that were not trained on it, so records that every model finds "
        f"easy do not rank high. With {wording.counted(models, 'such model')} the p-value among models is at least "
        f"{compact(1 / (models + 1))}.{_distance_explanation(results)}"
    )


def _distance_explanation(results: Results) -> str:
    if all(record.p_distance is None for record in results.exposed or ()):
        return ""
    method = "estimated on reference models as stand-in targets"
    if results.exposure is None:
        method = "by Student's t distribution"
    return f" The distance p-value is finer ({method}).{_inflation_sentence(results)}"


def _inflation_sentence(results: Results) -> str:
    if results.exposure is None or results.exposure.inflation <= 1:
        return ""
    return (
        f" Its normal scores were divided by {results.exposure.inflation:.2f}: on non-members this model differs more from the "
        "reference models than they differ from each other."
    )


def flag_guarantee(results: Results) -> str:
    """State the guarantee of the flags, and its limits."""
    exposure = results.exposure
    if exposure is None:
        return ""
    members = "No member"
    if exposure.flagged:
        members = f"{count(exposure.flagged)} of {wording.counted(exposure.tested, 'member')}"
    verb = "is" if exposure.flagged < 2 else "are"
    text = (
        f"{members} {verb} flagged at a false discovery rate of {percent(exposure.q)}: on average across audits, at most "
        f"{count(exposure.q * 100)} in 100 flagged records are no more exposed than if the model had never seen them."
    )
    if exposure.rate_in_models is not None and exposure.rate_out_models is not None:
        text += (
            f" Models trained with a flagged record score it as high in {percent(exposure.rate_in_models)} of cases, models "
            f"trained without it in {percent(exposure.rate_out_models)}."
        )
    return f"{text} Records without a flag may still be exposed."


def persons_explanation(results: Results) -> str:
    """Explain the table of persons."""
    if not results.exposed_persons:
        return ""
    order = "mean rank"
    if _persons_have_model_p_values(results):
        order = "p-value among models, then mean rank"
    return f"Persons are evaluated by all their records together (mean rank from 0 to 1), sorted by {order}."


def _persons_have_model_p_values(results: Results) -> bool:
    return any(person.p_among_models is not None for person in results.exposed_persons or ())


def nonmember_p_value_explanation(subject: Subject) -> str:
    """Explain p-values of records that were compared only with other records."""
    members = subject.members
    small = max(0.01, 1 / (subject.nonmembers + 1))  # with fewer than 99 non-members, no p-value is as small as 0.01
    return (
        "Without reference models, a high score may come from an easy record as well as from a memorised one. The p-value is the "
        f"share of non-members that score at least as high. If nothing leaked, about {count(max(members * small, 1))} members "
        f"would still have a p-value of {compact(small)} or less."
    )
