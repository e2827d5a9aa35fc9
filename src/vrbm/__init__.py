"""Restricted Boltzmann machines that find their own size.

Names are imported when first used, so that ``import vrbm`` starts nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from vrbm.model import (
        Binary,
        Constant,
        FixedSize,
        GrandCanonicalRBM,
        Local,
        Penalizing,
        Spin,
        exact,
    )

_HOME = {
    "Binary": "vrbm.model",
    "Constant": "vrbm.model",
    "FixedSize": "vrbm.model",
    "GrandCanonicalRBM": "vrbm.model",
    "Local": "vrbm.model",
    "Penalizing": "vrbm.model",
    "Spin": "vrbm.model",
    "exact": "vrbm.model",
}

__all__ = [
    "Binary",
    "Constant",
    "FixedSize",
    "GrandCanonicalRBM",
    "Local",
    "Penalizing",
    "Spin",
    "exact",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vrbm' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
