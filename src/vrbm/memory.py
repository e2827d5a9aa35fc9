"""The memory at hand, and the refusal of what does not fit in it.

Readers compute what a file needs before they allocate it. At most `SHARE` of the memory at hand may
be claimed: the rest is left to copies, to libraries and to other processes.
"""

import os
from collections.abc import Iterator
from pathlib import Path

SHARE = 0.75


def require(needed: int, what: str, remedy: str) -> None:
    """Raise an error unless `needed` bytes fit in the share of memory that may be claimed."""
    most = int(SHARE * available())
    if needed > most:
        raise ValueError(
            f"{what} needs {_size(needed)} of memory, but {_size(most)} may be used: {remedy}."
        )


def available() -> int:
    """Bytes that this process can still allocate: the smallest of the limits that are known."""
    return max(0, min(_limits(), default=1 << 62))


def _limits() -> Iterator[int]:
    yield from _system()
    yield from _control_group()
    yield from _process()


def _system() -> Iterator[int]:
    """What the system has available, or else all that it has."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024
            return
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= getattr(os, "sysconf_names", {}).keys():
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _control_group() -> Iterator[int]:
    """What is left of the limits of the control groups, of version 2 and of version 1."""
    for line in _lines("/proc/self/cgroup"):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            root, limit, usage, prefix = "/sys/fs/cgroup", "memory.max", "memory.current", ""
        elif "memory" in controllers.split(","):
            root, prefix = "/sys/fs/cgroup/memory", "total_"
            limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        cached = {f"{prefix}active_file", f"{prefix}inactive_file"}  # freed when needed
        own = Path(f"{root}/{group}")
        for folder in (own, *own.parents[: len(Path(group).parts) - 1]):
            most, used = _lines(f"{folder}/{limit}"), _lines(f"{folder}/{usage}")
            if most and used and most[0] != "max":
                facts = (line.split() for line in _lines(f"{folder}/memory.stat"))
                free = sum(int(value) for name, value in facts if name in cached)
                yield int(most[0]) - int(used[0]) + free


def _process() -> Iterator[int]:
    """What is left of the limits on address space and on data."""
    try:
        import resource
    except ImportError:  # Windows
        return
    pages = [int(count) for line in _lines("/proc/self/statm") for count in line.split()]
    for kind, place in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield limit - (pages[place] * resource.getpagesize() if pages else 0)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _size(count: int) -> str:
    """Bytes as a person would say them."""
    if count < 1024**2:
        return f"{count:,} bytes"
    return f"{count / 1024**2:,.0f} MiB" if count < 1024**3 else f"{count / 1024**3:,.1f} GiB"
