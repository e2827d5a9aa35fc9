"""The 2D Ising model on the periodic L×L lattice: draws, observables and exact thermodynamics.

E = −J Σ_⟨ij⟩ s_i s_j over 2N bonds, k_B = 1, N = L² spins ±1 flattened row by row.
"""

from vrbm.data.ising.lattice import bonds, energy, magnetization, row_correlation
from vrbm.data.ising.markov import MarkovDraws, metropolis_draws, swendsen_wang_draws
from vrbm.data.ising.order import exact_row_correlation, magnetization_probabilities
from vrbm.data.ising.paper import PAPER_TEMPERATURES, mixture_set, paper_set
from vrbm.data.ising.probability import (
    highest_log_likelihood,
    log_probability,
    mixture_log_probability,
)
from vrbm.data.ising.states import density_of_states
from vrbm.data.ising.thermodynamics import Thermodynamics, thermodynamics
from vrbm.data.ising.transfer import exact_draws

__all__ = [
    "PAPER_TEMPERATURES",
    "MarkovDraws",
    "Thermodynamics",
    "bonds",
    "density_of_states",
    "energy",
    "exact_draws",
    "exact_row_correlation",
    "highest_log_likelihood",
    "log_probability",
    "magnetization",
    "magnetization_probabilities",
    "metropolis_draws",
    "mixture_log_probability",
    "mixture_set",
    "paper_set",
    "row_correlation",
    "swendsen_wang_draws",
    "thermodynamics",
]
