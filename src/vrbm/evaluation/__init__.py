"""What a model has learned: errors, sizes, couplings, observables, mixing."""
