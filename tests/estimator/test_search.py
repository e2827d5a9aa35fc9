"""Many fits in one process: few programs, bounded memory, nothing left behind."""

import json
import subprocess
import sys

import jax
import numpy as np
import pytest

import vrbm
from vrbm.training import Config, Optimizer, programs, train

SCRIPT = """
import gc, json, os, sys, warnings
from pathlib import Path
import jax, numpy as np
import vrbm
from vrbm.training import programs

compiled = []
def listen(name, seconds, **facts):
    if "backend_compile" in name:
        compiled.append(facts.get("fun_name", name))
jax.monitoring.register_event_duration_secs_listener(listen)
rng = np.random.default_rng(0)

def state():
    gc.collect()
    return {
        "maps": Path("/proc/self/maps").read_text().count("\\n"),
        "memory": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
    }

def table(columns):
    return (rng.random((60, columns)) < 0.4).astype(float)

kind, count = sys.argv[1], int(sys.argv[2])
X = table(8)
warnings.simplefilter("ignore")
if kind == "widths":
    programs.SHARE = float(sys.argv[3])
highest = 0
for i in range(count):
    if kind == "settings":
        settings = {"learning_rate": 0.01 * (1 + i / 100), "potential": 0.1 + i / 1000}
    else:
        settings, X = {}, table(4 + i)
    vrbm.VRBM(**{"potential": 0.2, "n_iter": 2, "random_state": i, **settings}).fit(X)
    now = state()
    highest = max(highest, now["maps"])
    if i == 9:
        early = now
steps = sum("run" in str(name) for name in compiled)
print(json.dumps({"early": early, "late": now, "steps": steps, "highest": highest}))
"""


def measured(*arguments):
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return json.loads(found.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("fits", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_a_search_over_rates_prices_and_seeds_compiles_the_step_at_most_three_times(fits):
    found = measured("settings", fits)
    assert 1 <= found["steps"] <= 3
    early, late = found["early"], found["late"]
    assert late["memory"] - early["memory"] < 50e6
    assert late["maps"] - early["maps"] < 500
    assert late["threads"] <= early["threads"]
    assert late["files"] <= early["files"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("fits", "share"), [(10, 0.04), pytest.param(50, programs.SHARE, marks=pytest.mark.slow)]
)
def test_a_search_over_widths_holds_a_bounded_number_of_maps(fits, share):
    """One fit takes some 430 maps: programs are released before the next one begins."""
    with open("/proc/sys/vm/max_map_count") as file:
        limit = int(file.read())
    assert measured("widths", fits, share)["highest"] < share * limit + 1000


def test_momentum_penalties_schedules_and_norms_share_one_program():
    rows = np.random.default_rng(0).choice([-1, 1], (20, 5)).astype(np.int8)
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(0), 5, 3)

    def fit(x):
        optimizer = Optimizer.paper(
            learning_rate=0.1 * x,
            momentum=0.5 * x,
            clip_norm=x,
            warm_up=0.1 * x,
            growth=1 + x,
            decay_from=0.5 * x,
        )
        config = Config.paper(epochs=1, batch_size=10, optimizer=optimizer, penalty=0.1 * x)
        return list(train(model, rows, config, jax.random.key(0)))

    fit(1.0)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, *_, **__: compiled.append(name) if "backend_compile" in name else None
    )
    fit(0.5)
    jax.monitoring.clear_event_listeners()
    assert compiled == []


def test_prices_are_arguments_of_programs():
    """A number in a model would be a constant of each program that is compiled for it."""
    for potential in (vrbm.Constant(0.3), vrbm.Penalizing(scale=1.5), vrbm.Local(1.1)):
        model = vrbm.GrandCanonicalRBM(
            np.zeros((3, 2)), np.zeros(3), np.zeros(2), potential=potential
        )
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(model))
