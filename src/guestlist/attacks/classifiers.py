"""Attack classifiers fitted on reference models."""

import warnings
from collections.abc import Callable

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from guestlist._views import FullOutputsView, Signals
from guestlist.errors import NotCollectedError

HIDDEN = 64
# Maximum number of rows of the fit: more make it slower and hardly better; these take a second or two.
ROWS = 20_000
# Minimum number of rows for a held-out part for early stopping.
FEWEST_TO_STOP_EARLY = 200

LogOdds = Callable[[np.ndarray], np.ndarray]


def hashes(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return hashes of the content of rows, in single precision, and of their labels.

    Args:
        rows: (rows, features) numbers.
        labels: (rows,) labels as integers.

    Returns:
        (rows,) hashes that do not depend on the order of the rows.
    """
    bits = np.column_stack([rows.astype(np.float32).view(np.uint32), labels.astype(np.uint32)]).astype(np.uint64)
    odd = np.random.default_rng(0).integers(2**63, size=bits.shape[1:], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = (bits * odd).sum(axis=1, dtype=np.uint64)  # wraps around
    for shift in (33, 29, 32):  # the upper bits of a product are mixed well, the lower bits are not
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * odd[0]
    return mixed


def balanced(member: np.ndarray, order: np.ndarray, limit: int) -> np.ndarray:
    """Return the positions of equal numbers of members and non-members, members first.

    Args:
        member: (rows,) true for members.
        order: (rows,) hashes; the smallest are chosen.
        limit: Maximum number of positions.

    Returns:
        Positions of rows.
    """
    classes = [np.flatnonzero(member), np.flatnonzero(~member)]
    count = min(limit // 2, *map(len, classes))
    return np.concatenate([rows[np.argsort(order[rows])[:count]] for rows in classes])


def learn(rows: np.ndarray, member: np.ndarray) -> LogOdds:
    """Fit a network with one hidden layer.

    Args:
        rows: (rows, features) without NaN, in an order that does not depend on the order of the input.
        member: (rows,) true for members; there are members and non-members.

    Returns:
        Function from features to log-odds of membership.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    mean = rows.mean(axis=0)
    deviation = rows.std(axis=0)
    deviation = np.where(deviation > 1e-9 * (1 + np.abs(mean)), deviation, 1.0)  # constant columns
    network = MLPClassifier(
        (HIDDEN,),
        alpha=1e-2,
        learning_rate_init=3e-3,
        max_iter=60,
        early_stopping=len(rows) >= FEWEST_TO_STOP_EARLY,
        n_iter_no_change=8,
        random_state=0,
    )
    # For matrices this small, more threads are slower.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the iterations are capped on purpose
        network.fit((rows - mean) / deviation, member)
    first, last = network.coefs_
    hidden, out = network.intercepts_

    def log_odds(features: np.ndarray) -> np.ndarray:
        # Log-odds are not computed from probabilities, which saturate and tie.
        return (np.maximum((features - mean) / deviation @ first + hidden, 0) @ last + out)[:, 0]

    return log_odds


# Minimum number of members, and of non-members, of the references in a class with a separate classifier.
MIN_PER_CLASS = 50
# Minimum number of rows for the classifier of each class, if there are many classes.
FEWEST_ROWS = 1_000
# Log-odds are clipped to this: a logit of 1000 would dominate the others.
LARGEST_LOG_ODDS = 50.0

# Function from log-probabilities (rows, classes) and labels (rows,) to features (rows, …).
Features = Callable[[np.ndarray, np.ndarray], np.ndarray]


def nn_shokri(signals: Signals) -> np.ndarray:
    """Score by a network per class; inputs are the true class first, then the others by size (Shokri et al. 2017).

    A class in which references have few members or few non-members uses a network of all classes.

    Returns:
        (records,) log-odds of membership; NaN where the target was not queried, and without IN and OUT references.
    """
    references, outputs = _outputs(signals)
    labels = signals.labels
    scores = np.full(len(labels), np.nan)
    classes = np.unique(labels)
    without_network = np.zeros(len(labels), dtype=bool)
    for label in classes:
        of_class = labels == label
        fitted = _fit_network(references, labels, of_class, sorted_features, max(FEWEST_ROWS, ROWS // len(classes)))
        if fitted is None:
            without_network |= of_class
        else:
            scores[of_class] = fitted(sorted_features(outputs[of_class], labels[of_class]))
    if without_network.any():
        fitted = _fit_network(references, labels, np.ones(len(labels), dtype=bool), sorted_features, ROWS, minimum=1)
        if fitted is not None:
            scores[without_network] = fitted(sorted_features(outputs[without_network], labels[without_network]))
    return scores


def nn_nasr(signals: Signals) -> np.ndarray:
    """Score by one network for all classes, of the output and the label (Nasr et al. 2018, 2019).

    Returns:
        (records,) log-odds of membership; NaN where the target was not queried, and without IN and OUT references.
    """
    references, outputs = _outputs(signals)
    labels = signals.labels
    fitted = _fit_network(references, labels, np.ones(len(labels), dtype=bool), labelled_features, ROWS, minimum=1)
    if fitted is None:
        return np.full(len(labels), np.nan)
    return fitted(labelled_features(outputs, labels))


def sorted_features(log_p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return log-odds of the true class, then those of all others, largest first.

    Args:
        log_p: (rows, classes) log-probabilities.
        labels: (rows,) true class, as an index.

    Returns:
        (rows, classes) features of an attack that does not depend on the numbering of classes.
    """
    odds = class_log_odds(log_p)
    rows = np.arange(len(labels))
    true = odds[rows, labels]
    odds[rows, labels] = -np.inf
    return np.column_stack([true, -np.sort(-odds, axis=1)[:, :-1]])


def labelled_features(log_p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return log-odds of the true class, those of every class, and the one-hot label."""
    odds = class_log_odds(log_p)
    return np.column_stack([odds[np.arange(len(labels)), labels], odds, np.eye(odds.shape[1])[labels]])


def class_log_odds(log_p: np.ndarray) -> np.ndarray:
    """Return (rows, classes) log-odds of each class against all others."""
    log_p = log_p.astype(np.float64)
    rows = np.arange(len(log_p))
    top = log_p.argmax(axis=1)
    others = log_p.copy()
    others[rows, top] = -np.inf
    with np.errstate(divide="ignore"):
        log_complement = np.log1p(-np.exp(np.minimum(log_p, 0)))
    log_complement[rows, top] = scipy.special.logsumexp(others, axis=1)  # 1 - p cancels where p is near 1
    return np.clip(log_p - log_complement, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def _outputs(signals: Signals) -> tuple[FullOutputsView, np.ndarray]:
    """Return the outputs of the references and of the target, both in single precision, as in the folder."""
    references = signals.evidence.need("full_outputs")
    if signals.outputs is None:
        raise NotCollectedError(
            "This attack compares the target's full outputs with those of reference models, which were not collected. "
            "Collect them with evidence=[gl.evidence.FullOutputs()] (--evidence full_outputs)."
        )
    return references, signals.outputs.astype(np.float32)


def _fit_network(
    references: FullOutputsView,
    labels: np.ndarray,
    records: np.ndarray,
    features: Features,
    limit: int,
    minimum: int = MIN_PER_CLASS,
) -> LogOdds | None:
    """Fit a network on the references' outputs for some records.

    Return None with fewer than ``minimum`` members or non-members.
    """
    queried = ~np.isnan(references.log_p).any(axis=2) & records
    member = references.member[queried]
    if min(member.sum(), (~member).sum()) < minimum:
        return None
    log_p = references.log_p[queried]
    row_labels = labels[np.nonzero(queried)[1]]
    chosen = balanced(member, hashes(log_p, row_labels), limit)
    return learn(features(log_p[chosen], row_labels[chosen]), member[chosen])
