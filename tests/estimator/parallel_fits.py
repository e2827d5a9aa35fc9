"""Fits, or scores of a fitted model, in the workers of joblib: BACKEND fit|score."""

import sys
import warnings

import joblib
import numpy as np
from sklearn.model_selection import GridSearchCV

import vrbm

X = np.random.default_rng(0).integers(0, 2, (24, 4))


def score(machine):
    return machine.score(X)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    fitted = vrbm.RBM(2, n_iter=1, random_state=0).fit(X)  # JAX has run
    with joblib.parallel_config(backend=sys.argv[1], n_jobs=2):
        if sys.argv[2] == "fit":
            one = vrbm.RBM(n_iter=1, random_state=0)
            search = GridSearchCV(one, {"n_hidden": [2]}, cv=2, refit=False, error_score="raise")
            search.fit(X)
            print([search.cv_results_[f"split{n}_test_score"].item() for n in range(2)])
        else:
            print(joblib.Parallel()(joblib.delayed(score)(fitted) for _ in range(2)))
