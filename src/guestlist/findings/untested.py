"""Codes of everything that this audit did not test; the report has a sentence for each."""

from __future__ import annotations

from guestlist.case import Case
from guestlist.targets.scales import as_scale

REFERENCES = "references"
PARAMETERS = "parameters"
LABELS_ONLY = "labels_only"
SOURCES = "sources"
OTHER_LEAKAGE = "other_leakage"
LOGITS = "logits"


def find(case: Case) -> tuple[str, ...]:
    tested = {attack.evidence for attack in case.attacks.values()}
    silent = {
        REFERENCES: not case.view.references,
        PARAMETERS: not {"white_box", "leaves"} & tested,
        LABELS_ONLY: "perturbed" not in tested,
        SOURCES: case.baseline is None and not case.setting.drawn,
        OTHER_LEAKAGE: True,
        LOGITS: as_scale(case.setting.scale).hides_logits,
    }
    return tuple(code for code, untested in silent.items() if untested)
