"""Memory of this process: what it can still get, which is less in a container than on its machine, and what it has taken."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

KIBIBYTE, MEBIBYTE = 2**10, 2**20
OWN_GROUPS, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
FILES = {  # by version of Linux' control groups: the limit, what is used of it, and the cache in it that can be given back
    2: ("memory.max", "memory.current", "inactive_file"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def free_bytes(swap: bool = False) -> int | None:
    """Free RAM in bytes, with `swap` what can be swapped out too; None where the system does not tell."""
    import psutil  # here, because readers of files start without it

    try:
        free = psutil.virtual_memory().available
        free += psutil.swap_memory().free if swap else 0
    except (OSError, psutil.Error):
        return None
    return max(0, min([int(free), *_left_in_groups()]))


def _left_in_groups() -> Iterator[int]:
    """What each control group around this process leaves it, in bytes; a limit holds for all groups below it."""
    try:
        lines = OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:  # no Linux
        return
    for line in lines:
        _, _, rest = line.partition(":")
        kinds, _, place = rest.partition(":")
        if kinds and "memory" not in kinds.split(","):
            continue
        root, version = (GROUPS / "memory", 1) if kinds else (GROUPS, 2)
        group = root / place.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(root):
                break
            yield from _left(folder, *FILES[version])


def _left(folder: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    try:
        most, taken = (int((folder / name).read_text(encoding="ascii")) for name in (limit, used))
        stat = dict(
            line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        )
    except (OSError, ValueError):  # no such group here, or "max": no limit
        return
    yield most - taken + int(stat.get(cached, 0))


def tree_rss(pid: int) -> int:
    """The bytes of RAM that a process and those that it has started hold; 0 where it is gone."""
    import psutil  # here, because readers of files start without it

    total = 0
    try:
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            total += int(one.memory_info().rss)
    except psutil.Error:  # gone meanwhile
        return total
    return total


def address_space() -> int | None:
    """The bytes of address space that it has taken; None where the system does not say, as all but Linux."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak_rss_mib() -> float:
    """The most memory that it ever had, in MiB; 0 where the system does not say.

    Linux' `ru_maxrss` would begin at what its parent had when it started.
    """
    if sys.platform.startswith("linux"):
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        peak = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "VmHWM: 0 kB")
        return int(peak.split()[1]) / KIBIBYTE
    if sys.platform == "win32":
        import psutil

        return float(psutil.Process().memory_info().peak_wset) / MEBIBYTE
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEBIBYTE  # macOS counts bytes
