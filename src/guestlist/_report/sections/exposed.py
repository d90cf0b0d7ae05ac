"""The most exposed members and persons under the headline attack, flagged ones first."""

import math

from guestlist._findings.facts import Subject
from guestlist._findings.results import Results
from guestlist._report import wording
from guestlist._report.templates import Section, fill_template
from guestlist._util import compact, count, percent

GAP = " The gap is the distance of the score from the mean of such models' scores, in their standard deviations."
NOT_THE_TRAINING_SET = (
    "No record is listed: these records may not be the training set of this model (GL129), so nothing here shows that one "
    "of them is exposed."
)
P_VALUES = {"p_exposure": "distance p-value", "p_distance": "distance p-value", "p_value": "p-value among non-members"}


def section(results: Results) -> Section | None:
    """Render the tables of exposed records and persons; None where there are none."""
    listed = results.exposed or ()
    if not listed and results.exposure_summary is None and not results.exposed_persons:
        return None
    first = None
    if listed:
        first = listed[0]
    body = fill_template(
        "exposed.html",
        exposed=listed,
        persons=results.exposed_persons or (),
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
    return Section("exposed", exposed_title(results), body)


def has_model_p_values(results: Results) -> bool:
    """Return True if records were compared with their scores under models not trained on them."""
    return any(record.p_among_models is not None for record in results.exposed or ())


def table_caption(results: Results) -> str:
    """Return the caption of the table: its records, their order, and the number that chance would give."""
    if not results.exposed:
        return no_records_reason(results)
    attack = "the headline attack"
    if results.headline:
        attack = results.headline.name
    members = wording.counted(len(results.exposed), "member")
    extreme = "highest scores"
    if has_model_p_values(results):
        extreme = "smallest p-values"
    risks = wording.only_if(
        any(record.risks for record in results.exposed),
        "Only the model owner can compute the risks; see below how well they predict.",
    )
    return wording.paragraph(
        f"The {members} with the {extreme} under {attack}{_sorting(results)}.",
        risks,
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
            f"No record is listed: {wording.counted(exposure.left_out, 'member')} share the first place with equal values, and "
            "naming some of them would be arbitrary. All are in records.parquet."
        )
    members = wording.counted(exposure.members, "member")
    return (
        f"No record is listed: none of {members} has a {_p_value(results)} of {compact(exposure.alpha)} or less. Records may "
        "still be exposed, to another attack or by less than this number of references and non-members can detect."
    )


def small_p_values_sentence(results: Results) -> str:
    """Report how many members have a small p-value, and how many chance would give."""
    exposure = results.exposure_summary
    if exposure is None:
        return ""
    column = wording.only_if(exposure.column, f" (column {exposure.column} of records.parquet)")
    have = wording.plural(exposure.small, "has", "have")
    by_chance = count(max(exposure.alpha * exposure.members, 1))
    return (
        f"{count(exposure.small)} of {wording.counted(exposure.members, 'member')} {have} a {_p_value(results)} of "
        f"{compact(exposure.alpha)} or less{column}. Chance alone would give about {by_chance}."
    )


def _p_value(results: Results) -> str:
    return P_VALUES.get(results.exposure_summary.column if results.exposure_summary else "", "p-value")


def _ties_sentence(results: Results) -> str:
    """Report ties, among the listed records and after them."""
    exposure = results.exposure_summary
    sentences = []
    tied = sum(record.tied > 1 for record in results.exposed or ())
    if tied:
        sentences.append(f"{count(tied)} of those listed have the same values as others, and are sorted by id.")
    if exposure is not None and exposure.left_out:
        sentences.append(
            f"The next place is shared by {wording.counted(exposure.left_out, 'member')} with equal values. They are in "
            "records.parquet and not listed here, since naming some of them would be arbitrary."
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
        "Each record is compared with its own scores under models that were not trained on it. The p-value among models is the "
        "share of those models (counting this one) that score it at least as high. Records that every model finds easy therefore "
        f"do not rank high. With {wording.counted(models, 'such model')} no p-value is below {compact(1 / (models + 1))}."
        f"{_distance_explanation(results)}"
    )


def _distance_explanation(results: Results) -> str:
    if all(record.p_distance is None for record in results.exposed or ()):
        return ""
    method = "counted over reference models as stand-in targets"
    if results.exposure is None:
        method = "by Student's tail"
    return (
        " The distance p-value is finer: how often a record's score is so far above those of models that were not trained on it, "
        f"{method}. It decides which records are listed.{_inflation_sentence(results)}{wording.only_if(_has_gaps(results), GAP)}"
    )


def _inflation_sentence(results: Results) -> str:
    if results.exposure is None or results.exposure.inflation <= 1:
        return ""
    return (
        " Its normal scores were divided by "
        f"{results.exposure.inflation:.2f}, because on non-members this model differs more from the reference models than they "
        "differ from each other."
    )


def flag_guarantee(results: Results) -> str:
    """State the guarantee of the flags, and its limits."""
    exposure = results.exposure
    if exposure is None:
        return ""
    members = "No member"
    if exposure.flagged:
        members = f"{count(exposure.flagged)} of {wording.counted(exposure.tested, 'member')}"
    verb = "are"
    if exposure.flagged < 2:
        verb = "is"
    text = (
        f"{members} {verb} flagged (column flagged of records.parquet). The false discovery rate is controlled at "
        f"{percent(exposure.q)}: on average across audits, at most {count(exposure.q * 100)} in 100 flagged records are no more "
        "exposed than if the model had never seen them."
    )
    if exposure.rate_in_models is not None and exposure.rate_out_models is not None:
        text += (
            f" Models trained again with a flagged record score it as high in {percent(exposure.rate_in_models)} of cases; "
            f"models trained without it, in {percent(exposure.rate_out_models)}."
        )
    return text + (
        " A flag is no proof for a single record. Records without a flag may still be exposed, to another attack or by less than "
        "this number of references can detect."
    )


def persons_explanation(results: Results) -> str:
    """Explain the table of persons."""
    if not results.exposed_persons:
        return ""
    order = "the place"
    if _persons_have_model_p_values(results):
        order = "the p-value among models, then of the place"
    return (
        "Persons are judged by all their records together, so that one with many records does not stand out by the luckiest "
        f"of them. The place is the mean of their records' places among all, from 0 to 1. They stand in the order of {order}."
    )


def _persons_have_model_p_values(results: Results) -> bool:
    return any(person.p_among_models is not None for person in results.exposed_persons or ())


def nonmember_p_value_explanation(subject: Subject) -> str:
    """Explain p-values of records that were compared only with other records."""
    members = subject.members
    small = max(0.01, 1 / (subject.nonmembers + 1))  # with fewer than 99 non-members, no p-value is as small as 0.01
    return (
        "No record was compared with itself under other models, so a high score may come from an easy record as well as from "
        "a remembered one. "
        "The p-value is the share of non-members that score at least as high, the record itself counted in, "
        "so it is never 0. A small one means that few people who were not in the training set look so much "
        "as if they were. "
        f"These are the highest scores of {wording.counted(members, 'member')}: if nothing leaked, about "
        f"{count(max(members * small, 1))} of them would still have a p-value of {compact(small)} or less."
    )
