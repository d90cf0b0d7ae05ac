"""Attacks that are wrong, each in one way that was seen or is easily written; the self-test must catch every one."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm


def honest(signals):
    return signals.target("margin") - signals.reference("margin").mean(axis=0)


# -- the order of rows ---------------------------------------------------------------------------------------------------


def rank_by_order(signals):
    """Ranks that break ties by position: the first rows, which are members, come out on top."""
    correct = signals.target("correct")
    ranks = np.empty(len(correct))
    ranks[np.argsort(correct[::-1], kind="stable")] = np.arange(len(correct))
    return ranks[::-1]


def rank_of_margins_by_order(signals):
    """The same on margins, which tie only where answers are rounded."""
    return np.argsort(np.argsort(honest(signals)[::-1], kind="stable"))[::-1]


def a_trace_of_position(signals):
    """Too little to change a score, enough to break ties."""
    return signals.target("margin") - 1e-10 * np.arange(len(signals.labels))


def position_in_a_population(signals):
    return honest(signals) if signals.population is None else -np.arange(len(signals.labels), dtype=float)


# -- labels and classes --------------------------------------------------------------------------------------------------


def label_bonus(signals):
    return honest(signals) + 0.5 * signals.labels


def inverted_for_more_than_two_classes(signals):
    return honest(signals) if signals.labels.max() < 2 else -honest(signals)


def inverted_for_hard_records(signals):
    """Where the references are wrong on average."""
    return np.where(signals.reference("margin").mean(axis=0) < 0, -honest(signals), honest(signals))


def inverted_where_the_loss_is_large(signals):
    hard = signals.reference("loss").mean(axis=0)
    return np.where(hard > np.median(hard), -honest(signals), honest(signals))


# -- the number of references --------------------------------------------------------------------------------------------


def in_count_below_forty(signals):
    count = signals.reference_member.sum(axis=0)
    return honest(signals) - 0.5 * count if signals.references < 40 else honest(signals)


def in_count_alone_below_forty(signals):
    return (
        -signals.reference_member.sum(axis=0) + 1e-3 * honest(signals) if signals.references < 40 else honest(signals)
    )


def in_count_of_few(signals):
    count = signals.reference_member.sum(axis=0)
    return honest(signals) - 0.5 * count if signals.references < 20 else honest(signals)


# -- saturated answers ---------------------------------------------------------------------------------------------------


def _saturated(signals):
    """Where more than a few records have the very same, largest answer."""
    margin = signals.target("margin")
    largest = margin == margin.max()
    return largest & (largest.sum() > 5)


def position_where_saturated(signals):
    position = np.arange(len(signals.labels))
    return np.where(_saturated(signals), 100.0 - position, honest(signals))


def inverted_where_saturated(signals):
    return np.where(_saturated(signals), -100.0, honest(signals))


def in_count_where_saturated(signals):
    return honest(signals) - np.where(_saturated(signals), signals.reference_member.sum(axis=0), 0)


# -- likelihoods ---------------------------------------------------------------------------------------------------------


def two_sided_offline_lira(signals):
    """Minus the log-density under OUT: an unusually low margin counts as membership."""
    out = signals.outside("margin")
    return -norm.logpdf(signals.target("margin"), out.mean, np.sqrt(out.pooled_variance))


def two_sided_offline_lira_per_record(signals):
    out = signals.outside("margin")
    return np.abs(signals.target("margin") - out.mean) / np.sqrt(np.where(out.count > 1, out.variance, 1) + 1e-6)


def raw_variance_lira(signals):
    """The variance of the whole matrix, which holds the spread between records too, for IN and for OUT."""
    x, values, member = signals.target("margin"), signals.reference("margin"), signals.reference_member
    inside, outside = signals.inside("margin"), signals.outside("margin")
    return norm.logpdf(x, inside.mean, values[member].std()) - norm.logpdf(x, outside.mean, values[~member].std())


def total_variance_lira(signals):
    """One variance per record over IN and OUT together: the more a record leaks, the larger."""
    x, spread = signals.target("margin"), signals.reference("margin").std(axis=0) + 1e-3
    return norm.logpdf(x, signals.inside("margin").mean, spread) - norm.logpdf(
        x, signals.outside("margin").mean, spread
    )


def total_variance_offline_lira(signals):
    spread = signals.reference("margin").std(axis=0) + 1e-3
    return (signals.target("margin") - signals.outside("margin").mean) / spread


# Each with words of the reason for which it must fail.
BAD_ATTACKS = {
    rank_by_order: "order of the records",
    rank_of_margins_by_order: "order of the records, with ties",
    a_trace_of_position: "where nothing leaks, with answers that tie",
    position_in_a_population: "where nothing leaks, with a population",
    label_bonus: "where nothing leaks, with labels that shift",
    inverted_for_more_than_two_classes: "sign inverted",
    inverted_for_hard_records: "among hard records",
    inverted_where_the_loss_is_large: "among hard records",
    in_count_below_forty: "how many references trained on a record",
    in_count_alone_below_forty: "how many references trained on a record",
    in_count_of_few: "with 15 references",
    position_where_saturated: "order of the records, with ties, saturated",
    inverted_where_saturated: "among easy records, with saturated answers",
    in_count_where_saturated: "how many references trained on a record",
    two_sided_offline_lira: "call margins on both sides",
    two_sided_offline_lira_per_record: "call margins on both sides",
    raw_variance_lira: "spread that is not that of one record",
    total_variance_lira: "IN and OUT references together",
    total_variance_offline_lira: "IN and OUT references together",
}
