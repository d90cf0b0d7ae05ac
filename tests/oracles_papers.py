"""LiRA and RMIA as their papers write them: plain loops over records, reference models and population records.

``observed`` is (records,), what the target says; ``reference`` (models, records), what the shadow models say;
``inside`` (models, records), whether a shadow model trained on the record. Nothing here knows of guestlist.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

# -- Carlini et al. 2022, "Membership Inference Attacks From First Principles" ------------------------------------


def lira_online(observed, reference, inside, variance) -> np.ndarray:
    """Algorithm 1: log of p(conf | N(mu_in, var_in)) / p(conf | N(mu_out, var_out)), record by record."""
    shared = {side: one_variance(reference, inside == side, variance) for side in (True, False)}
    scores = []
    for i in range(len(observed)):
        log_density = {}
        for side in (True, False):
            confs = [c for c, trained in zip(reference[:, i], inside[:, i], strict=True) if trained == side]
            mu = sum(confs) / len(confs)
            var = _variance_of(confs) if variance == "record" else shared[side]
            log_density[side] = -((observed[i] - mu) ** 2) / (2 * var) - math.log(math.sqrt(2 * math.pi * var))
        scores.append(log_density[True] - log_density[False])
    return np.array(scores)


def lira_offline(observed, reference, inside, variance) -> np.ndarray:
    """Equation 4: log of 1 - Pr[Z > conf], Z ~ N(mu_out, var_out); the logarithm keeps the order where 1 is reached."""
    shared = one_variance(reference, ~inside, variance)
    scores = []
    for i in range(len(observed)):
        confs = [c for c, trained in zip(reference[:, i], inside[:, i], strict=True) if not trained]
        mu = sum(confs) / len(confs)
        var = _variance_of(confs) if variance == "record" else shared
        scores.append(stats.norm.logcdf(observed[i], mu, math.sqrt(var)))
    return np.array(scores)


def one_variance(reference, chosen, kind) -> float:
    """One variance for all records: "pooled" within records, or "fixed", of all confidences thrown together."""
    if kind == "fixed":
        return float(np.var(reference[chosen], ddof=1))
    deviations, freedom = [], 0
    for i in range(reference.shape[1]):
        confs = reference[chosen[:, i], i]
        deviations += [(c - confs.mean()) ** 2 for c in confs]
        freedom += len(confs) - 1
    return sum(deviations) / freedom


def _variance_of(confs) -> float:
    mu = sum(confs) / len(confs)
    return sum((c - mu) ** 2 for c in confs) / (len(confs) - 1)


# -- Zarifzadeh et al. 2024, "Low-Cost High-Power Membership Inference Attacks" -----------------------------------


def marginal_online(reference, inside) -> np.ndarray:
    """Pr(x): half from models that trained on x, half from models that did not."""
    scores = []
    for i in range(reference.shape[1]):
        probabilities = {
            side: [p for p, trained in zip(reference[:, i], inside[:, i], strict=True) if trained == side]
            for side in (True, False)
        }
        scores.append(sum(sum(ps) / len(ps) for ps in probabilities.values()) / 2)
    return np.array(scores)


def marginal_offline(reference, inside, a) -> np.ndarray:
    """Pr(x) from models that did not train on x: (Pr_out + Pr_in) / 2, where Pr_in is taken as a Pr_out + (1 - a)."""
    scores = []
    for i in range(reference.shape[1]):
        outside = [p for p, trained in zip(reference[:, i], inside[:, i], strict=True) if not trained]
        pr_out = sum(outside) / len(outside)
        scores.append((pr_out + a * pr_out + (1 - a)) / 2)
    return np.array(scores)


def rmia_counts(observed, marginal, population, gamma) -> np.ndarray:
    """Count the z with (Pr(x | theta) / Pr(x)) / (Pr(z | theta) / Pr(z)) >= gamma, for every record x.

    Args:
        population: indices of the records z.
    """
    counts = []
    for x in range(len(observed)):
        count = 0
        for z in population:
            if (observed[x] / marginal[x]) / (observed[z] / marginal[z]) >= gamma:
                count += 1
        counts.append(count)
    return np.array(counts)


# -- how both papers report: a threshold over all scores ----------------------------------------------------------


def auc(scores, member) -> float:
    """Share of (member, non-member) pairs in the right order, ties counting 0.5."""
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a in scores[member] for b in scores[~member]]
    return sum(wins) / len(wins)


def threshold(scores, member, fpr) -> float:
    """The smallest non-member's score t such that "member if score > t" has at most this FPR."""
    return min(t for t in scores[~member] if (scores[~member] > t).mean() <= fpr + 1e-12)


def tpr(scores, member, fpr) -> float:
    """Share of members above that threshold."""
    return float((scores[member] > threshold(scores, member, fpr)).mean())
