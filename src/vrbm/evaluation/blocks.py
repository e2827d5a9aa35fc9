"""Rows of any source, block by block, as values of the model's visible units."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from vrbm.data.dataset import Dataset, Domain
from vrbm.data.domains import DomainFinder, find_domain
from vrbm.data.rows import Rows, as_rows
from vrbm.model import GrandCanonicalRBM, checks
from vrbm.training.source import encoded

#: Values of v and h in a block.
VALUES = 1 << 22


class Blocks:
    """Rows of an array, a memory map, a sparse matrix or an HDF5 dataset, (rows, N).

    Without `domain`, one pass over the rows finds it; with it, blocks are checked. Iteration gives
    the blocks, all of them with `size` rows, and how many of these count: the last block is filled
    up with copies of its last row, so that one compiled function serves all.
    """

    def __init__(
        self,
        model: GrandCanonicalRBM,
        data: Any,
        domain: Domain | None = None,
        block_rows: int | None = None,
    ) -> None:
        if isinstance(data, Dataset):
            raise ValueError(
                f"data is the whole data set {data.name!r}: pass one of its splits, "
                "e.g. data.test, with domain=data.domain."
            )
        self.rows: Rows = as_rows(data)
        self.unit = model.visible
        if self.rows.shape[1] != model.n_visible:
            raise ValueError(
                f"data has {self.rows.shape[1]} values in a row, but the model has "
                f"{model.n_visible} visible units: pass rows of {model.n_visible} values."
            )
        most = VALUES // (model.n_visible + model.max_hidden)
        asked = max(1, most) if block_rows is None else checks.count("block_rows", block_rows)
        self.size = min(asked, len(self))
        self._check = domain is not None
        self.domain = domain or find_domain(self.rows)

    def __len__(self) -> int:
        """The number of rows."""
        return self.rows.shape[0]

    def __iter__(self) -> Iterator[tuple[np.ndarray, int]]:
        """Blocks (size, N) of int8 states, or of float32 means, with the number that counts."""
        for start in range(0, len(self), self.size):
            rows = self.rows.read(start, min(start + self.size, len(self)))
            if self._check:
                finder = DomainFinder()
                finder.add(rows, start, "data", self.rows.columns)
                finder.require(self.domain)
            filled = np.pad(rows, ((0, self.size - len(rows)), (0, 0)), mode="edge")
            values = encoded(self.unit, filled, self.domain)
            self.unit.check(f"data, from row {start} on,", values)
            yield values, len(rows)

    @property
    def are_states(self) -> bool:
        """Whether the rows hold states of the units, and not means."""
        return self.domain is not Domain.UNIT
