import jax
import pytest


@pytest.fixture(autouse=True)
def quick_compilation(request):
    """Compilation is most of the time here; only slow tests need quick code."""
    quick = request.node.get_closest_marker("slow") is None
    jax.config.update("jax_disable_most_optimizations", quick)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
