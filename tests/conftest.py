import jax
import pytest
from jaxtyping import install_import_hook

import tests.typechecker  # the hook looks it up by name

# Shapes and types of every annotated call are checked while the tests run, and only then.
install_import_hook("vrbm", f"{tests.typechecker.__name__}.check")

# Oracles are float64; tests of float32 make float32 models, whose results must stay float32.
jax.config.update("jax_enable_x64", True)


@pytest.fixture(autouse=True, scope="module")
def fresh_caches():
    """Compiled functions of one module are of no use to the next, and fill the memory."""
    yield
    jax.clear_caches()
