"""Training: negative phases, gradient, active window, optimizer, loop, checkpoints."""

from vrbm.training.arithmetic import ResumeWarning
from vrbm.training.config import Config
from vrbm.training.guards import Diverged
from vrbm.training.loop import Record, TrainState, start, train
from vrbm.training.negative import Gibbs, MeanField, Persistent
from vrbm.training.optimizer import Optimizer, paper_momentum
from vrbm.training.stopping import EarlyStopping
from vrbm.training.tempered import Tempered

__all__ = [
    "Config",
    "Diverged",
    "EarlyStopping",
    "Gibbs",
    "MeanField",
    "Optimizer",
    "Persistent",
    "Record",
    "ResumeWarning",
    "Tempered",
    "TrainState",
    "paper_momentum",
    "start",
    "train",
]
