"""scikit-learn estimators: `VRBM`, which finds its size, and `RBM`, whose size is given."""

from vrbm.estimator.machines import RBM, VRBM
from vrbm.estimator.scoring import ImpossibleLikelihood

__all__ = ["RBM", "VRBM", "ImpossibleLikelihood"]
