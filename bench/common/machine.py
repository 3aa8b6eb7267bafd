"""The machine and the package versions of a run."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

OURS = ("treetop-xmc", "numpy", "scipy", "scikit-learn")
PEERS = ("libpecos", "omikuji", "napkinxc", "numpy", "scipy")


def describe_hardware() -> str:
    """One sentence: processor, cores, memory, system."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory; {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}"
    )


def processor() -> str:
    """The model name that lscpu prints."""
    try:
        listing = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in listing.splitlines() if ":" in line)
    return fields.get("Model name", platform.machine()).strip()


def versions(peers: Path) -> dict[bool, dict[str, str]]:
    """Package versions here (True) and in the peers' environment."""
    code = f"import importlib.metadata as m; print(*[m.version(n) for n in {PEERS!r}])"
    printed = subprocess.run([str(peers), "-c", code], capture_output=True, text=True, check=True).stdout
    ours = {name: importlib.metadata.version(name) for name in OURS}
    return {True: ours, False: dict(zip(PEERS, printed.split(), strict=True))}
