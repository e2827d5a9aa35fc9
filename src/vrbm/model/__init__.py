"""The grand-canonical RBM: units, chemical potentials, layer size, exact enumeration."""

from vrbm.model import exact
from vrbm.model.layers import Binary, Categorical, Spin, Unit
from vrbm.model.potential import (
    Constant,
    Custom,
    FixedSize,
    Local,
    Penalizing,
    Potential,
    Reservoir,
    Unbounded,
)
from vrbm.model.rbm import GrandCanonicalRBM
from vrbm.model.storage import load, save

__all__ = [
    "Binary",
    "Categorical",
    "Constant",
    "Custom",
    "FixedSize",
    "GrandCanonicalRBM",
    "Local",
    "Penalizing",
    "Potential",
    "Reservoir",
    "Spin",
    "Unbounded",
    "Unit",
    "exact",
    "load",
    "save",
]
