from .target import Predict as Predict
from .target import Reads as Reads
from .target import Target as Target
from .target import Trainer as Trainer
from .target import as_target as as_target
from .target import function_target as function_target
