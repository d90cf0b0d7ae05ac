"""A game played again and again, with and without differential privacy: what an attack owes to dependent records."""

from guestlist.experiments.encoding import as_numbers
from guestlist.experiments.running import experiment
from guestlist.experiments.setting import ExperimentSetting
from guestlist.experiments.summary import Experiment, Gap, Point

__all__ = ["Experiment", "ExperimentSetting", "Gap", "Point", "as_numbers", "experiment"]
