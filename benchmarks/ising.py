"""How long the Ising draws take: the paper's set, exact draws, and one effective Markov draw."""

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from vrbm.data import ising

CRITICAL = 2.269185


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["VRBM_CACHE"] = cache
        print(f"paper_set(), drawn and stored        {seconds(ising.paper_set)[0]:8.3f} s")
        print(f"paper_set(), from the cache          {seconds(ising.paper_set)[0]:8.3f} s")
    for L, n in ((8, 100_000), (10, 10_000)):
        took, _ = seconds(partial(ising.exact_draws, L, CRITICAL, n))
        print(f"exact_draws, L = {L:2d}, {n:7,d} draws   {took:8.3f} s")
    for L in (8, 16, 24):
        took, _ = seconds(partial(ising.density_of_states, L))
        print(f"density_of_states, L = {L:2d}            {took:8.3f} s")
    for draw in (ising.metropolis_draws, ising.swendsen_wang_draws):
        for L in (16, 32):
            took, found = seconds(partial(draw, L, CRITICAL, 1_024))
            print(
                f"{draw.__name__}, L = {L}, 1,024 draws: {took:.2f} s, worth "
                f"{found.effective_sample_size:.0f}, τ = {found.autocorrelation_time:.1f}, "
                f"burn-in {found.burn_in}, thinning {found.thinning}"
            )


if __name__ == "__main__":
    main()
