"""Estimators in joblib's workers: processes and threads work, forked ones are refused."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vrbm
from tests.estimator.parallel_fits import X

SCRIPT = Path(__file__).with_name("parallel_fits.py")


def run(backend, what):
    environment = {**os.environ, "PYTHONPATH": str(Path(vrbm.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, SCRIPT, backend, what],
        capture_output=True, text=True, timeout=100, check=False, env=environment,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.parametrize("what", ["fit", "score"])
def test_forked_workers_end_with_a_sentence(what):
    try:
        done = run("multiprocessing", what)
    except subprocess.TimeoutExpired:  # a fork may take a lock along that no thread will release
        done = run("multiprocessing", what)
    assert done.returncode == 1
    assert "Forked: this process was forked after JAX had started" in done.stderr
    assert "use joblib's backend 'loky' or 'threading'" in done.stderr


def test_threads_and_processes_agree():
    threads, processes = run("threading", "fit"), run("loky", "fit")
    assert threads.returncode == processes.returncode == 0, threads.stderr + processes.stderr
    assert json.loads(threads.stdout) == json.loads(processes.stdout)


def test_a_pickle_gives_the_same_estimator():
    machine = vrbm.RBM(2, n_iter=1, random_state=0, warm_start=True).fit(X)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.transform(X), machine.transform(X))
    np.testing.assert_array_equal(again.sample(3), machine.sample(3))
    np.testing.assert_array_equal(again.fit(X).components_, machine.fit(X).components_)
