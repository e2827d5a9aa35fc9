"""Array types of the package: the only place where axis names live.

``batch`` stands for any number of leading axes, none included; ``visible`` counts the N visible
units, ``hidden`` the K hidden ones and, equally, the K possible layer sizes z = 1..K.
"""

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Array, Bool, Float, Float64, Int, Int8, Key, UInt32

#: Anything that numpy can turn into numbers; checked, with a sentence, by ``vrbm.model.checks``.
Values: TypeAlias = Any

RandomKey: TypeAlias = Key[Array, ""] | UInt32[Array, "words"]

Scalar: TypeAlias = Float[Array, ""]
Field: TypeAlias = Float[Array, "..."]
Batch: TypeAlias = Float[Array, "*batch"]
Visible: TypeAlias = Float[Array, "*batch visible"]
Chains: TypeAlias = Float[Array, "chains visible"]
Hidden: TypeAlias = Float[Array, "*batch hidden"]
Sizes: TypeAlias = Int[Array, "*batch"]

Weights: TypeAlias = Float[Array, "hidden visible"]
HiddenBias: TypeAlias = Float[Array, "hidden"]
VisibleBias: TypeAlias = Float[Array, "visible"]
Windowed: TypeAlias = Float[Array, "window"]  # the first units, that a training step computes
Price: TypeAlias = Scalar | HiddenBias
SumsOverUnits: TypeAlias = Float[Array, "sums"]

#: All rows of a training, the weight of each, and which of their entries are missing.
Rows: TypeAlias = Float[Array, "rows visible"]
RowWeights: TypeAlias = Float[Array, "rows"]
MissingInRows: TypeAlias = Bool[Array, "rows visible"]
Missing: TypeAlias = Bool[Array, "chains visible"]

#: Spins ±1 of lattices, flattened row by row; and exact or measured numbers of any shape.
Spins: TypeAlias = Int8[np.ndarray, "*batch sites"]
Numbers: TypeAlias = Float64[np.ndarray, "..."]
