"""An experiment on dependent records, with the words for it: a page of its own, and rows for a terminal."""

from guestlist.report.experiment.readable import Experiment, experiment

__all__ = ["Experiment", "experiment"]
