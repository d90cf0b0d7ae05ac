"""Scores split by truth, validation of their shapes, and rounding."""

import numpy as np


def count_unscored(scores: np.ndarray) -> int:
    """Count the NaN scores: records that an attack could not score and that metrics ignore.

    Args:
        scores: (records,) scores.

    Returns:
        The number of records without a score.

    Examples:
        >>> gl.metrics.count_unscored(np.array([0.5, np.nan, np.inf]))
        1
    """
    return int(np.isnan(scores).sum())


def drop_unscored(scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scores as float64 and their membership, in the given order, without unscored records."""
    scores = np.asarray(scores, dtype=np.float64)
    member = np.asarray(member, dtype=bool)
    if scores.shape != member.shape or scores.ndim != 1:
        raise ValueError(f"Expected scores and member (records,), found {scores.shape} and {member.shape}.")
    scored = ~np.isnan(scores)
    if scored.all():
        return scores, member
    return scores[scored], member[scored]


def cluster_codes(clusters: np.ndarray | None, scores: np.ndarray) -> np.ndarray | None:
    """Return cluster codes of the scored records, in order of appearance; None for None.

    Args:
        clusters: (records,) Labels; records with the same label belong to one person. None for independent records.
        scores: (records,) Records with a NaN score are dropped.
    """
    if clusters is None:
        return None
    clusters = np.asarray(clusters)
    scores = np.asarray(scores, dtype=np.float64)
    if clusters.shape != scores.shape:
        raise ValueError(f"Expected clusters {scores.shape}, one per record, found {clusters.shape}.")
    return consecutive_codes(clusters[~np.isnan(scores)])


def scored_records(
    scores: np.ndarray, member: np.ndarray, clusters: np.ndarray | None = None, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return scores, membership, cluster codes and weights of the scored records; None stays None."""
    clusters = cluster_codes(clusters, scores)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
        scores = np.asarray(scores, dtype=np.float64)
        if weights.shape != scores.shape:
            raise ValueError(f"Expected weights {scores.shape}, one per record, found {weights.shape}.")
        weights = weights[~np.isnan(scores)]
    return *drop_unscored(scores, member), clusters, weights


def optional_take(values: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Select rows of optional clusters or weights; None for None."""
    if values is None:
        return None
    return values[rows]


def consecutive_codes(labels: np.ndarray) -> np.ndarray:
    """Number the labels from 0 in order of first appearance.

    >>> consecutive_codes(np.array(["b", "a", "b", "c"])).tolist()
    [0, 1, 0, 2]
    """
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]


def rows_by_label(labels: np.ndarray) -> list[np.ndarray]:
    """Return the positions of each label, in rising order of labels; negative labels are skipped.

    It needs one sort for any number of labels.

    >>> [rows.tolist() for rows in rows_by_label(np.array([2, 0, -1, 2]))]
    [[1], [0, 3]]
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order][:1] - 1))
    return [rows for rows in np.split(order, starts[1:]) if len(rows) and labels[rows[0]] >= 0]


def means_by_label(labels: np.ndarray, values: np.ndarray, n_labels: int) -> np.ndarray:
    """Return (labels,) the mean of the known values of each label; NaN for a label without any."""
    known = ~np.isnan(values)
    count = np.bincount(labels[known], minlength=n_labels)
    with np.errstate(invalid="ignore"):  # 0 / 0
        return np.bincount(labels[known], values[known], n_labels) / count


def subsample_by_label(labels: np.ndarray, outputs: np.ndarray, enough: int) -> np.ndarray | None:
    """Draw records of each label that have at least ``enough`` model outputs; None if all are needed.

    The draw is random with a fixed seed. Negative labels are skipped.

    Args:
        labels: (records,).
        outputs: (records,) Number of models with an output for each record; records without any are skipped.
        enough: Number of outputs per label.

    >>> subsample_by_label(np.array([0, 1, 0, 0, 0, 0]), np.full(6, 4), enough=10).tolist()
    [1, 3, 4, 5]
    """
    rows_of_label = rows_by_label(np.where(outputs > 0, labels, -1))
    steps = [max(1, int(outputs[rows].sum()) // enough) for rows in rows_of_label]
    if max(steps, default=1) == 1:
        return None
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(rows)[: -(-len(rows) // step)] for rows, step in zip(rows_of_label, steps, strict=True)]
    return np.sort(np.concatenate(drawn))


def take_columns(matrix: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Select records of a (models, records) matrix, row-contiguous; all records are returned without a copy.

    ``matrix[:, records]`` would be laid out record by record, and later passes over models would take three times as long.

    Args:
        matrix: (models, records).
        records: A mask, or positions.

    >>> take_columns(np.arange(6).reshape(2, 3), np.array([True, False, True]))
    array([[0, 2],
           [3, 5]])
    """
    records = np.asarray(records)
    n_records = matrix.shape[1]
    if records.dtype == bool:
        if len(records) != n_records:
            raise IndexError(f"Expected a mask of {n_records} records, found one of {len(records)}.")
        records = np.flatnonzero(records)
    positions = as_slice(records)
    if not isinstance(positions, slice):
        return np.take(matrix, positions, axis=1)
    if positions.stop > n_records:
        raise IndexError(f"Expected positions of {n_records} records, found {positions.stop - 1}.")
    return np.ascontiguousarray(matrix[:, positions])


def as_slice(rows: np.ndarray) -> np.ndarray | slice:
    """Return consecutive rows as a slice, which copies nothing; other rows unchanged.

    >>> as_slice(np.array([1, 2, 3])), as_slice(np.array([0, 2]))
    (slice(1, 4, None), array([0, 2]))
    """
    if len(rows) > 0 and rows[0] >= 0 and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def six_digits(values: np.ndarray) -> tuple[float, ...]:
    """Round values to six significant digits; no chart resolves more.

    >>> six_digits(np.array([1 / 3, 0.0, 123456.5]))
    (0.333333, 0.0, 123456.0)
    """
    return tuple(map(float, map("{:.6g}".format, np.asarray(values, dtype=np.float64).tolist())))


def six_digit_rows(*rows: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """Round each of several arrays to six significant digits."""
    return tuple(map(six_digits, rows))


SMALLEST_PROBABILITY = 1e-30
