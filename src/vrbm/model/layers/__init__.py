"""Types of units, one file each."""

from vrbm.model.layers.binary import Binary
from vrbm.model.layers.categorical import Categorical
from vrbm.model.layers.spin import Spin
from vrbm.model.layers.unit import Unit

__all__ = ["Binary", "Categorical", "Spin", "Unit"]
