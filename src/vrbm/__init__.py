"""Restricted Boltzmann machines that find their own size.

Names are imported when first used, so that ``import vrbm`` starts nothing.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "RBM",
    "VRBM",
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

if TYPE_CHECKING:
    from vrbm.estimator import RBM, VRBM
    from vrbm.model import (
        Binary,
        Categorical,
        Constant,
        Custom,
        FixedSize,
        GrandCanonicalRBM,
        Local,
        Penalizing,
        Potential,
        Reservoir,
        Spin,
        Unbounded,
        Unit,
        exact,
        load,
        save,
    )
else:

    def __getattr__(name):
        from importlib import import_module

        if name in ("RBM", "VRBM"):
            return getattr(import_module("vrbm.estimator"), name)
        if name in __all__:
            return getattr(import_module("vrbm.model"), name)
        if name in ("data", "estimator", "evaluation", "model", "training"):
            return import_module(f"vrbm.{name}")
        raise AttributeError(f"module 'vrbm' has no attribute {name!r}")

    def __dir__():
        return sorted([*globals(), *__all__])
