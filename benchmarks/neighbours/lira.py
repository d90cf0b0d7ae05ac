"""The exact likelihood ratio of a K-NN target compared with LiRA with increasing numbers of shadow models."""

from __future__ import annotations

import time

import numpy as np

from guestlist.knn import Knn, knn_likelihood_ratio, t_waka

SHADOWS = (4, 16, 64, 256, 1024)


def compare(n: int = 400, k: int = 5, targets: int = 40, seed: int = 0) -> list[dict]:
    """Return one row per attack: mean AUC and mean TPR at 5 % FPR over targets, and seconds for all targets."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 4)) + 0.7 * y[:, None]
    member, loss = models(x, y, k, targets, rng)
    trained, shadow = models(x, y, k, max(SHADOWS), rng)
    rows = [_row("loss", 0, lambda t: -t, loss, member)]
    for count in SHADOWS:
        few = trained[:count], shadow[:count]
        rows.append(_row("LiRA, normal distributions", count, lambda t, few=few: normal_lira(t, *few), loss, member))
        rows.append(
            _row("LiRA, counted distributions", count, lambda t, few=few: counted_lira(t, *few, k), loss, member)
        )
    rows.append(_row("t-WaKA", 0, lambda t: t_waka(x, y, t, Knn(k)), loss, member))
    rows.append(_row("exact likelihood ratio", 0, lambda t: knn_likelihood_ratio(x, y, t, Knn(k)), loss, member))
    return rows


def models(x, y, k, count, rng):
    """Return (count, n) membership and losses of K-NN models on random halves of records without ties."""
    order = np.argsort(((x[:, None] - x) ** 2).sum(axis=2), axis=1)
    wrong = y[order] != y[:, None]
    member = rng.random((count, len(x))) < 0.5
    loss = np.empty(member.shape)
    for row, out in zip(member, loss, strict=True):
        stored = row[order]
        out[:] = (stored & wrong & (np.cumsum(stored, axis=1) <= k)).sum(axis=1) / k
    return member, loss


def normal_lira(target, member, loss):
    """Return online LiRA on the loss; the variance is pooled within records below 64 models."""
    log_densities = []
    for mask in (member, ~member):
        count = np.maximum(mask.sum(axis=0), 1)
        mean = np.where(mask, loss, 0).sum(axis=0) / count
        square = np.where(mask, (loss - mean) ** 2, 0).sum(axis=0)
        degrees_of_freedom = np.maximum(count - 1, 0)
        pooled = square.sum() / max(degrees_of_freedom.sum(), 1)
        variance = pooled if len(member) < 64 else square / np.maximum(degrees_of_freedom, 1) + 1e-6
        log_densities.append(-((target - mean) ** 2) / (2 * variance) - np.log(variance) / 2)
    return log_densities[0] - log_densities[1]


def counted_lira(target, member, loss, k):
    """Return LiRA for a loss with k + 1 values, by counts with 0.5 added to each."""
    hit = np.round(loss * k) == np.round(target * k)
    inside, outside = (
        ((hit & mask).sum(axis=0) + 0.5) / (mask.sum(axis=0) + (k + 1) / 2) for mask in (member, ~member)
    )
    return np.log(inside / outside)


def _row(name, shadows, attack, losses, member) -> dict:
    start = time.process_time()
    scores = [attack(target) for target in losses]
    seconds = time.process_time() - start
    rates = [_rates(score, truth) for score, truth in zip(scores, member, strict=True)]
    auc, tpr = np.mean(rates, axis=0)
    error = np.std(rates, axis=0) / np.sqrt(len(rates))
    return {
        "attack": name,
        "shadow_models": shadows,
        "auc": round(float(auc), 4),
        "auc_se": round(float(error[0]), 4),
        "tpr_at_5_percent_fpr": round(float(tpr), 4),
        "tpr_se": round(float(error[1]), 4),
        "cpu_s_after_shadow_models": round(seconds, 3),
    }


def _rates(score, member):
    inside, outside = score[member], score[~member]
    higher = inside[:, None] > outside
    auc = (higher + 0.5 * (inside[:, None] == outside)).mean()
    threshold = np.sort(outside)[::-1][int(0.05 * len(outside))]
    return auc, (inside > threshold).mean()
