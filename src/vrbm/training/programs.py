"""Compiled programs take memory maps, of which a process has a limited number.

Each shape of model and data compiles programs of its own, some 400 maps and 20 MB for a fit. A
process that has used up its maps is ended by the system, so programs are released long before.
"""

import gc
from pathlib import Path

import jax

# The part of the maps of a process at which programs are released.
SHARE = 0.25


def release_if_many() -> None:
    """Let go of all compiled programs where they hold many maps; elsewhere do nothing.

    Programs in use are compiled anew when they are next called.
    """
    try:
        limit = int(Path("/proc/sys/vm/max_map_count").read_text())
        used = Path("/proc/self/maps").read_bytes().count(b"\n")
    except (OSError, ValueError):  # systems without such a limit, or that do not tell
        return
    if used > SHARE * limit:
        jax.clear_caches()  # type: ignore[no-untyped-call]
        gc.collect()
