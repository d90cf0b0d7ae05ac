"""What this audit did not look at, as codes; the report has a sentence for each."""

from __future__ import annotations

from guestlist.case import Case
from guestlist.targets.scales import as_scale

REFERENCES, PARAMETERS, LABELS_ONLY, SOURCES, OTHER_LEAKAGE, LOGITS = (
    "references",
    "parameters",
    "labels_only",
    "sources",
    "other_leakage",
    "logits",
)


def find(case: Case) -> tuple[str, ...]:
    looked = {attack.evidence for attack in case.attacks.values()}
    silent = {
        REFERENCES: not case.view.references,
        PARAMETERS: not {"white_box", "leaves"} & looked,
        LABELS_ONLY: "perturbed" not in looked,
        SOURCES: case.baseline is None and not case.setting.drawn,
        OTHER_LEAKAGE: True,
        LOGITS: as_scale(case.setting.scale).hides_logits,
    }
    return tuple(code for code, untested in silent.items() if untested)
