"""Fuzzes all readers of files: a mutated file must lead to a result or to one sentence, to nothing else.

    python bench/attacks/readers.py [--seconds 300] [--doors csv,parquet] [--engine atheris|random] [--seed 0]
    python bench/attacks/readers.py --replay build/attacks/readers/csv-0123456789abcdef

The engine atheris follows which lines of treetop run; random, the default where it is missing, does not.
Each reader is attacked in a process of its own, so that a crash of native code counts as a failure. Inputs
that fail are kept in build/attacks/readers.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import provenance
from common.options import parser_for

if TYPE_CHECKING:
    from fuzzed_readers.doors import Door


PATIENCE_S = 60.0
"""For an input where the number of inputs is given, as in tests, which may run on a busy machine."""


def main() -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="for all readers together")
    parser.add_argument(
        "--tries", type=int, help="inputs of each reader, instead of seconds; engine random only"
    )
    parser.add_argument("--doors", help="names of readers, separated by commas; default: all")
    parser.add_argument("--engine", choices=("atheris", "random"), help="default: atheris if installed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=Path, nargs="*", help="files of failed inputs")
    chosen = parser.parse_args()
    if chosen.engine != "random" and importlib.util.find_spec("atheris") is None:
        print(
            "atheris is not installed, so mutations are not guided by coverage: pip install"
            " 'treetop-xmc[attack]'",
            file=sys.stderr,
        )
        if chosen.engine is not None:
            return 2
        chosen.engine = "random"
    guided = chosen.engine != "random" and chosen.tries is None and not chosen.replay
    if guided:
        _import_instrumented()
    from fuzzed_readers import engines, verdicts

    os.environ["TREETOP_LIMITS"] = verdicts.LIMITS
    if chosen.tries is not None:
        verdicts.SECONDS = PATIENCE_S
    if chosen.replay:
        return _replay(chosen.replay)
    doors = _chosen_doors(chosen.doors)
    failed = 0
    for door in doors:
        share = engines.Share(chosen.seconds / len(doors), chosen.tries, chosen.seed)
        tried, wrong = engines.attack(door, share, engines.with_atheris if guided else engines.at_random)
        failed += wrong
        print(json.dumps({"attack": f"readers/{door.name}", "tried": tried, "failed": wrong}), flush=True)
    print(provenance.measured([provenance.this_run()]), file=sys.stderr)
    return int(failed > 0)


def _import_instrumented() -> None:
    """Imports all modules that read and need no torch through atheris."""
    import atheris

    quietly = contextlib.redirect_stderr(io.StringIO())  # it lists all modules
    with quietly, atheris.instrument_imports(include=["treetop"], exclude=["treetop.sklearn"]):
        for name in ("treetop.serve.feedback_data", "treetop.methods.pecos"):
            importlib.import_module(name)
        for package in ("data", "tree", "linear", "features", "comparison", "reproduction"):
            found = importlib.import_module(f"treetop.{package}")
            for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
                importlib.import_module(module.name)


def _chosen_doors(names: str | None) -> list[Door]:
    from fuzzed_readers.doors import DOORS

    if names is None:
        return list(DOORS)
    known = {door.name: door for door in DOORS}
    unknown = [name for name in names.split(",") if name not in known]
    if unknown:
        raise SystemExit(f"there is no reader {unknown[0]!r}; choose from {', '.join(known)}")
    return [known[name] for name in names.split(",")]


def _replay(paths: list[Path]) -> int:
    """Prints what is wrong with the outcome of kept inputs."""
    from fuzzed_readers import engines
    from fuzzed_readers.mutations import unpacked
    from fuzzed_readers.verdicts import failure

    found = 0
    for path in paths:
        case = unpacked(path.read_bytes())
        (door,) = _chosen_doors(path.name.rpartition("-")[0])
        with engines.new_folder() as folder:
            engines.prepare(engines.Attack(door, folder, engines.Tally()))
            problem = failure(door, case, folder / "case")
        for name, content in case.items():
            print(f"{name}: {content[:300]!r}" if isinstance(content, bytes) else f"{name}: {content.value}")
        print(problem or "as it should be")
        found += problem is not None
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
