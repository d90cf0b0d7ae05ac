"""Broken attacks, each with one realistic error; the self-test must detect every one."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm


def calibrated_margin(signals):
    """Score by the difference to the mean of the references: a valid attack, which passes the self-test."""
    return signals.target("margin") - signals.reference("margin").mean(axis=0)


# -- order of the records -----------------------------------------------------------------------------------------------


def rank_by_order(signals):
    """Break ties by position: the first rows, which are members, get the highest ranks."""
    correct = signals.target("correct")
    ranks = np.empty(len(correct))
    ranks[np.argsort(correct[::-1], kind="stable")] = np.arange(len(correct))
    return ranks[::-1]


def rank_of_margins_by_order(signals):
    """Rank margins by position, which matters only if rounded outputs tie."""
    return np.argsort(np.argsort(calibrated_margin(signals)[::-1], kind="stable"))[::-1]


def small_multiple_of_position(signals):
    """Add a tiny multiple of the position, which only breaks ties."""
    return signals.target("margin") - 1e-10 * np.arange(len(signals.labels))


def position_in_a_population(signals):
    return calibrated_margin(signals) if signals.population is None else -np.arange(len(signals.labels), dtype=float)


# -- labels and classes -------------------------------------------------------------------------------------------------


def label_bonus(signals):
    return calibrated_margin(signals) + 0.5 * signals.labels


def inverted_for_more_than_two_classes(signals):
    return calibrated_margin(signals) if signals.labels.max() < 2 else -calibrated_margin(signals)


def inverted_for_hard_records(signals):
    """Invert the score where the references are wrong on average."""
    return np.where(
        signals.reference("margin").mean(axis=0) < 0, -calibrated_margin(signals), calibrated_margin(signals)
    )


def inverted_where_the_loss_is_large(signals):
    hard = signals.reference("loss").mean(axis=0)
    return np.where(hard > np.median(hard), -calibrated_margin(signals), calibrated_margin(signals))


# -- number of references -----------------------------------------------------------------------------------------------


def in_count_below_forty(signals):
    count = signals.reference_member.sum(axis=0)
    return calibrated_margin(signals) - 0.5 * count if signals.references < 40 else calibrated_margin(signals)


def only_in_count_below_forty(signals):
    return (
        -signals.reference_member.sum(axis=0) + 1e-3 * calibrated_margin(signals)
        if signals.references < 40
        else calibrated_margin(signals)
    )


def in_count_of_few(signals):
    count = signals.reference_member.sum(axis=0)
    return calibrated_margin(signals) - 0.5 * count if signals.references < 20 else calibrated_margin(signals)


# -- saturated outputs --------------------------------------------------------------------------------------------------


def _saturated(signals):
    """Return a mask of saturated records: several records share the largest output."""
    margin = signals.target("margin")
    largest = margin == margin.max()
    return largest & (largest.sum() > 5)


def position_where_saturated(signals):
    position = np.arange(len(signals.labels))
    return np.where(_saturated(signals), 100.0 - position, calibrated_margin(signals))


def inverted_where_saturated(signals):
    return np.where(_saturated(signals), -100.0, calibrated_margin(signals))


def in_count_where_saturated(signals):
    return calibrated_margin(signals) - np.where(_saturated(signals), signals.reference_member.sum(axis=0), 0)


# -- likelihoods --------------------------------------------------------------------------------------------------------


def two_sided_offline_lira(signals):
    """Score by minus the log-density under OUT: an unusually low margin counts as membership."""
    out = signals.outside("margin")
    return -norm.logpdf(signals.target("margin"), out.mean, np.sqrt(out.pooled_variance))


def two_sided_offline_lira_per_record(signals):
    out = signals.outside("margin")
    return np.abs(signals.target("margin") - out.mean) / np.sqrt(np.where(out.count > 1, out.variance, 1) + 1e-6)


def raw_variance_lira(signals):
    """Use the variance of the whole matrix, which includes the variance between records, for IN and for OUT."""
    x, values, member = signals.target("margin"), signals.reference("margin"), signals.reference_member
    inside, outside = signals.inside("margin"), signals.outside("margin")
    return norm.logpdf(x, inside.mean, values[member].std()) - norm.logpdf(x, outside.mean, values[~member].std())


def total_variance_lira(signals):
    """Use one variance per record over IN and OUT together, which grows with the leak."""
    x, deviation = signals.target("margin"), signals.reference("margin").std(axis=0) + 1e-3
    return norm.logpdf(x, signals.inside("margin").mean, deviation) - norm.logpdf(
        x, signals.outside("margin").mean, deviation
    )


def total_variance_offline_lira(signals):
    deviation = signals.reference("margin").std(axis=0) + 1e-3
    return (signals.target("margin") - signals.outside("margin").mean) / deviation


def total_variance_of_all_lira(signals):
    """Use one variance over all references and records: the score follows the sign of a noisy difference."""
    x, deviation = signals.target("margin"), signals.reference("margin").std()
    return norm.logpdf(x, signals.inside("margin").mean, deviation) - norm.logpdf(
        x, signals.outside("margin").mean, deviation
    )


def total_variance_pooled_lira(signals):
    """Use the mean over records of each record's variance over IN and OUT together."""
    x, deviation = signals.target("margin"), np.sqrt(signals.reference("margin").var(axis=0, ddof=1).mean())
    return norm.logpdf(x, signals.inside("margin").mean, deviation) - norm.logpdf(
        x, signals.outside("margin").mean, deviation
    )


def shrunk_total_variance_lira(signals):
    """Shrink each record's variance over IN and OUT together towards the mean over records."""
    variance = signals.reference("margin").var(axis=0, ddof=1)
    deviation = np.sqrt((variance + variance.mean()) / 2)
    x = signals.target("margin")
    return norm.logpdf(x, signals.inside("margin").mean, deviation) - norm.logpdf(
        x, signals.outside("margin").mean, deviation
    )


# -- labels -------------------------------------------------------------------------------------------------------------


def label_as_score(signals):
    return signals.labels.astype(float)


def bonus_for_class_one(signals):
    """Add a bonus to one class."""
    return calibrated_margin(signals) + 0.3 * (signals.labels == 1)


def log_odds_of_class_one(signals):
    """Use the margin of a fixed class instead of the true one."""
    return np.where(signals.labels == 1, 1, -1) * calibrated_margin(signals)


def class_frequency(signals):
    share = np.bincount(signals.labels) / len(signals.labels)
    return calibrated_margin(signals) + share[signals.labels]


def prior_of_the_class(signals):
    share = np.bincount(signals.labels) / len(signals.labels)
    return calibrated_margin(signals) - np.log(share[signals.labels])


def inverted_for_a_rare_class(signals):
    share = np.bincount(signals.labels) / len(signals.labels)
    return np.where(share[signals.labels] < 0.15, -calibrated_margin(signals), calibrated_margin(signals))


# -- constant where saturated -------------------------------------------------------------------------------------------


def constant_where_the_output_is_largest(signals):
    return np.where(_saturated(signals), 0.0, calibrated_margin(signals))


def constant_where_log_odds_are_infinite(signals):
    probability = signals.target("p_y")
    return np.where((probability == 0) | (probability == 1), 0.0, calibrated_margin(signals))


def constant_beyond_a_margin_of_ten(signals):
    return np.where(np.abs(signals.target("margin")) > 10, 0.0, calibrated_margin(signals))


def largest_score_where_sure(signals):
    """Give records with confident outputs the largest score: the ranking ignores their references."""
    scores = calibrated_margin(signals)
    return np.where(signals.target("p_y") > 0.999, scores.max() + 1, scores)


# -- few references -----------------------------------------------------------------------------------------------------


def _lira(signals, swapped):
    """Return LiRA with one variance each for IN and OUT, pooled within records; IN and OUT are swapped for some records."""
    x = signals.target("margin")
    ratio = 0.0
    for stats, sign in ((signals.inside("margin"), 1), (signals.outside("margin"), -1)):
        ratio = ratio + sign * norm.logpdf(x, stats.mean, np.sqrt(stats.pooled_variance))
    return np.where(swapped, -ratio, ratio)


def swapped_with_one_in_reference(signals):
    return _lira(signals, signals.reference_member.sum(axis=0) < 2)


def swapped_with_few_in_references(signals):
    return _lira(signals, signals.reference_member.sum(axis=0) < 4)


def swapped_with_a_small_share_of_in_references(signals):
    return _lira(signals, signals.reference_member.mean(axis=0) < 0.1)


def swapped_with_few_out_references(signals):
    return _lira(signals, (~signals.reference_member).sum(axis=0) < 3)


def swapped_with_few_references(signals):
    return _lira(signals, signals.references < 8)


def constant_with_few_in_references(signals):
    return np.where(signals.reference_member.sum(axis=0) < 3, 0.0, _lira(signals, False))


# -- weaker than plain loss ---------------------------------------------------------------------------------------------


def margin_of_references(signals):
    """Score mostly by the record's difficulty, and little by the target."""
    return signals.reference("margin").mean(axis=0) + 0.5 * signals.target("margin")


def distance_to_in_references(signals):
    """Score by the distance to the mean of IN references: half of a likelihood ratio is missing."""
    inside = signals.inside("margin")
    return -np.abs(signals.target("margin") - inside.mean)


# Each attack, with a part of the message with which it must fail.
BROKEN_ATTACKS = {
    rank_by_order: "order of the records",
    rank_of_margins_by_order: "order of the records, with ties",
    small_multiple_of_position: "where nothing leaks, with outputs that tie",
    position_in_a_population: "where nothing leaks, with a population",
    label_bonus: "where nothing leaks, with labels that shift",
    inverted_for_more_than_two_classes: "Check the sign of the score",
    inverted_for_hard_records: "among hard records",
    inverted_where_the_loss_is_large: "among hard records",
    in_count_below_forty: "how many references trained on a record",
    only_in_count_below_forty: "how many references trained on a record",
    in_count_of_few: "with 15 references",
    position_where_saturated: "order of the records, with ties, saturated",
    inverted_where_saturated: "among easy records, with saturated outputs",
    in_count_where_saturated: "how many references trained on a record",
    two_sided_offline_lira: "flags only large margins",
    two_sided_offline_lira_per_record: "flags only large margins",
    raw_variance_lira: "standard deviation of one record over models",
    total_variance_lira: "IN and OUT references together",
    total_variance_offline_lira: "IN and OUT references together",
    total_variance_of_all_lira: "separate variances for IN and OUT",
    total_variance_pooled_lira: "separate variances for IN and OUT",
    shrunk_total_variance_lira: "separate variances for IN and OUT",
    label_as_score: "how the classes are numbered",
    bonus_for_class_one: "how the classes are numbered",
    log_odds_of_class_one: "how the classes are numbered",
    class_frequency: "where nothing leaks, with class frequencies that shift",
    prior_of_the_class: "where nothing leaks, with class frequencies that shift",
    inverted_for_a_rare_class: "among the records of the rarest class",
    constant_where_the_output_is_largest: "ignores the references of records with saturated outputs",
    constant_where_log_odds_are_infinite: "ignores the references of records with saturated outputs",
    constant_beyond_a_margin_of_ten: "ignores the references of records with saturated outputs",
    largest_score_where_sure: "ignores the references of records with saturated outputs",
    swapped_with_one_in_reference: "on records with 1 IN references among 7",
    swapped_with_few_in_references: "on records with 2 IN references among 7",
    swapped_with_a_small_share_of_in_references: "on records with 1 IN references among 32",
    swapped_with_few_out_references: "on records with 1 OUT references among 7",
    swapped_with_few_references: "on records with 3 or 4 IN references among 7",
    constant_with_few_in_references: "on records with 2 IN references among 7",
    margin_of_references: "of the AUC of loss",
    distance_to_in_references: "of the AUC of loss",
}
