import os

import jax
import pytest
from jaxtyping import install_import_hook

import tests.typechecker  # the hook looks it up by name

# Shapes and types of every annotated call are checked while the tests run, and only then.
install_import_hook("vrbm", f"{tests.typechecker.__name__}.check")

# Oracles are float64; tests of float32 make float32 models, whose results must stay float32.
jax.config.update("jax_enable_x64", True)

# Compilation is most of the time of the tests, and of the processes that they start.
QUICK = "jax_disable_most_optimizations"
jax.config.update(QUICK, True)
os.environ[QUICK.upper()] = "1"


@pytest.fixture(autouse=True)
def quick_code(request, monkeypatch):
    """Slow tests need quick code more than quick compilation."""
    is_slow = request.node.get_closest_marker("slow") is not None
    jax.config.update(QUICK, not is_slow)
    monkeypatch.setenv(QUICK.upper(), "0" if is_slow else "1")


@pytest.fixture(autouse=True, scope="module")
def fresh_caches():
    """Compiled functions of one module are of no use to the next, and fill the memory."""
    yield
    jax.clear_caches()
