"""CycloneDX 1.6 bill of materials for one model, with its privacy metrics on a model card."""

import json
from typing import Any

from guestlist._findings import Results
from guestlist._report import (
    LOWER_BOUND,
    headline_names,
    model_name,
    sanitize_results,
    untested_sentences,
    verdict_texts,
)
from guestlist._util import percent
from guestlist.metrics import Estimate

SPEC_VERSION = "1.6"
SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
MODEL = "model"


def cyclonedx(results: Results) -> str:
    """Return an ML-BOM: the model, its membership-privacy metrics, and the limits of the audit."""
    results = sanitize_results(results)
    component = {
        "type": "machine-learning-model",
        "bom-ref": MODEL,
        "name": model_name(results),
        "description": " ".join(verdict_texts(results)),
        "modelCard": {
            "quantitativeAnalysis": {"performanceMetrics": _metrics(results)},
            "considerations": {"technicalLimitations": [LOWER_BOUND, *untested_sentences(results)]},
        },
    }
    document = {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {"tools": {"components": [_tool(results)]}, "component": component},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _tool(results: Results) -> dict[str, str]:
    tool = {"type": "application", "name": "guestlist"}
    if results.provenance is not None and "guestlist" in results.provenance.versions:
        tool["version"] = results.provenance.versions["guestlist"]
    return tool


def _metrics(results: Results) -> list[dict[str, Any]]:
    """Return AUC and TPR of the headline attacks, and the accuracy of the model."""
    metrics = []
    for name in headline_names(results):
        attack = results.attack(name)
        metrics.append(_metric("membership inference AUC", attack.auc, name))
        metrics += [
            _metric(f"membership inference TPR at {percent(rate.fpr)} FPR", rate.tpr, name)
            for rate in attack.rates
            if rate.tpr.value == rate.tpr.value
        ]
    subject = results.subject
    if subject is not None:
        accuracies = {"training records": subject.accuracy_members, "other records": subject.accuracy_nonmembers}
        metrics += [
            {"type": "accuracy", "value": str(accuracy), "slice": name}
            for name, accuracy in accuracies.items()
            if accuracy is not None
        ]
    return metrics


def _metric(kind: str, estimate: Estimate, attack: str) -> dict[str, Any]:
    bounds = {"lowerBound": str(estimate.low), "upperBound": str(estimate.high)}
    return {"type": kind, "value": str(estimate.value), "slice": f"attack {attack}", "confidenceInterval": bounds}
