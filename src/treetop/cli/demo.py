"""``treetop demo``: from nothing to answers in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from .options import Seed, Threads, given
from .output import heading, show, show_table

QUERIES = (
    "parse a date from a string",
    "wait for several threads to finish",
    "draw random numbers from a normal distribution",
    "eigenvalues of a symmetric matrix",
)
ANSWERS = 5


def demo(
    *,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep the trained model there.", show_default=False),
    ] = None,
    threads: Threads = None,
    seed: Seed = None,
) -> None:
    """Train on the documentation of this Python and answer a few queries."""
    from ..data.builtin import build
    from ..methods.hybrid import Hybrid
    from ..store import check_target

    if keep is not None:
        check_target(keep)
    with step("Collecting docstrings"):
        splits = build("python-docs")
    train, test = splits["train"], splits["test"]
    model = Hybrid(**given({"threads": threads, "seed": seed})).fit(train)
    with step("Evaluating"):
        metrics = model.evaluate(test)

    heading("Docstrings of this Python, tagged with modules, related names and exceptions")
    show(
        f"{len(train):,} texts to learn from, {len(test):,} held out; {len(train.labels):,} labels"
        f" in a tree {'-'.join(map(str, model.tree.sizes))}\n"
    )
    heading("On the held-out texts, in percent")
    show(f"{metrics.table()}\n")
    for query, answers in zip(QUERIES, model.predict(list(QUERIES), ANSWERS), strict=True):
        heading(f"“{query}”")
        show_table((f"  {label}", f"{score:.3f}") for label, score in answers)
        show()
    if keep is not None:
        with step(f"Saving {keep}"):
            model.save(keep)
    heading("What to type next")
    show(_suggestions(keep))


def _suggestions(kept: Path | None) -> str:
    model = kept or Path("model")
    lines = [
        f'echo "{QUERIES[0]}" | treetop predict {model} -',
        f"treetop info {model} --tree",
        "treetop methods hybrid",
    ]
    if kept is None:
        lines = [
            "treetop data build python-docs --output python-docs",
            "treetop data info python-docs/train.jsonl python-docs/test.jsonl",
            f"treetop train python-docs/train.jsonl --model {model}",
            f"treetop evaluate {model} python-docs/test.jsonl --by-frequency",
            *lines,
        ]
    return "\n".join(f"  {line}" for line in lines)
