"""The most exposed members and persons under the headline attack, flagged ones first."""

import math
from dataclasses import replace

from guestlist._findings import Results
from guestlist._report import Chart, Section, Series, fill_section, prose, score_chart, wording

MIN_LISTED = 10  # minimum number of records in the table, if available
MAX_LISTED = 20


def section(results: Results) -> Section | None:
    """Render the scores, and the tables of exposed records and persons; None where there are none."""
    exposed = results.exposed or ()
    persons = (results.exposed_persons or ())[:MIN_LISTED]
    if not exposed and results.exposure_summary is None and not persons:
        return None
    flagged = sum(bool(record.flagged) for record in exposed)
    listed = exposed[: min(max(flagged, MIN_LISTED), MAX_LISTED)]
    first = next(iter(listed), None)
    persons_compared = any(person.p_among_models is not None for person in results.exposed_persons or ())
    return fill_section(
        "exposed",
        prose("exposed.title", results),
        "exposed.html",
        charts=_exposure_chart(results),
        exposed=listed,
        persons=persons,
        labels=any(record.label for record in listed),
        groups=sorted(first.groups) if first else (),
        risks=sorted(first.risks) if first else (),
        features=tuple(first.features) if first else (),
        flagged=first is not None and first.flagged is not None,
        distances=first is not None and first.p_distance is not None,
        gaps=any(record.gap is not None for record in exposed),
        nan=math.nan,
        caption=prose("exposed.caption", results),
        compared=any(record.p_among_models is not None for record in exposed),
        explanation=prose("exposed.explanation", results) if listed else "",
        persons_caption=prose("exposed.persons", persons_compared),
        persons_compared=persons_compared,
        guarantee=prose("exposed.guarantee", results.exposure),
    )


def _exposure_chart(results: Results) -> dict[str, Chart]:
    """Draw the scores of members and non-members, with a mark for each flagged record in the list."""
    attack = wording.headline_attack(results)
    if attack is None or not attack.histogram.members:
        return {}
    chart = score_chart(attack)
    scores = [record.score for record in results.exposed or () if record.flagged and math.isfinite(record.score)]
    if scores:
        height = max(attack.histogram.members) / 20
        marks = Series(
            "flagged records in the list", tuple(scores), (height,) * len(scores), "ink", mark="triangle-down"
        )
        chart = replace(chart, series=(*chart.series, marks))
    return {"exposure": chart}
