"""What to tell a user whose audit lacks the evidence that an attack looks at: what it is, and how to get it."""

from __future__ import annotations

_COLLECT = "Add also=[gl.{plan}()] to gl.audit, or --also {name} to the command: guestlist collect DIR --also {name}"

# What each kind is, and the plan that collects it; without a plan, only some targets have it.
_WHAT: dict[str, tuple[str, str]] = {
    "neighbourhood": (
        "computes what K-NN models would say, and the target is none that it knows: a scikit-learn "
        "KNeighborsClassifier with uniform weights and euclidean or cosine distances, alone or last in a pipeline.",
        "",
    ),
    "leaves": (
        "looks at the leaves of trees, and the target is none that it knows: a tree, forest or boosted trees of "
        "scikit-learn, XGBoost or LightGBM, alone or last in a pipeline.",
        "",
    ),
    "distilled": ("compares the target with models distilled from it, which were not trained.", "Distilled"),
    "answers": ("learns from the references' whole answers, which were not kept.", "Answers"),
    "inner": ("looks into the target's parameters, which was not done.", "Inner"),
    "left_out": ("compares the target with models trained without the record, which were not trained.", "LeftOut"),
    "perturbed": ("looks at the target's labels of perturbed records, which it was not asked for.", "Perturbed"),
    "quantiles": ("compares the target with what it says about known non-members, which was not learnt.", "Quantiles"),
}


def missing_evidence(name: str) -> str:
    """The rest of a sentence about an attack."""
    what, plan = _WHAT[name]
    return f"{what} {_COLLECT.format(plan=plan, name=name)}" if plan else what
