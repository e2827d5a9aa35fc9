"""Processes that were forked after JAX had started.

The threads of JAX are not there in such a child, and a computation would wait for them forever. It
is refused instead. joblib forks with its backend "multiprocessing" alone.
"""

import os
import sys

try:
    from jax._src.xla_bridge import backends_are_initialized
except ImportError:  # of another version of JAX, which may keep it elsewhere

    def backends_are_initialized() -> bool:
        """Whether JAX may have started."""
        return "jax" in sys.modules


_jax_has_started = _is_forked = False


class Forked(RuntimeError):
    """JAX cannot compute in this process."""


def check() -> None:
    """Raise `Forked` in a child of a process in which JAX had started."""
    if _is_forked:
        raise Forked(
            "this process was forked after JAX had started, and would wait for it forever: use "
            "joblib's backend 'loky' or 'threading', or start processes by 'spawn'."
        )


def _before() -> None:
    global _jax_has_started
    _jax_has_started = backends_are_initialized()


def _in_child() -> None:
    global _is_forked
    _is_forked = _is_forked or _jax_has_started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
