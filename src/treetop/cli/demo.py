"""``treetop demo``: a trained model and its predictions in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from ..units import counted
from .command import reserve
from .options import Seed, Threads, given
from .output import heading, show, show_table

QUERIES = (
    "parse a date from a string",
    "wait for several threads to finish",
    "draw random numbers from a normal distribution",
    "eigenvalues of a symmetric matrix",
)
LABELS_SHOWN = 5


def demo(
    *,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save the trained model in this folder.", show_default=False),
    ] = None,
    threads: Threads = None,
    seed: Seed = None,
) -> None:
    """Train on the documentation of this Python and label a few queries."""
    from ..data.builtin import build
    from ..methods.hybrid import Hybrid

    if keep is not None:
        reserve(keep)
    with step("Collecting docstrings"):
        splits = build("python-docs")
    train, test = splits["train"], splits["test"]
    model = Hybrid(**given({"threads": threads, "seed": seed})).fit(train)
    with step("Evaluating"):
        metrics = model.evaluate(test)

    heading("Docstrings of this Python, tagged with modules, related names and exceptions")
    show(
        f"{counted(len(train), 'training text')}, {len(test):,} held out;"
        f" {counted(len(train.labels), 'label')} in a tree {'-'.join(map(str, model.tree.sizes))}\n"
    )
    heading("Metrics on the held-out texts, in percent")
    show(f"{metrics.table()}\n")
    for query, ranked in zip(QUERIES, model.predict(list(QUERIES), LABELS_SHOWN), strict=True):
        heading(f"“{query}”")
        show_table((f"  {label}", f"{score:.3f}") for label, score in ranked)
        show()
    if keep is not None:
        with step(f"Saving {keep}"):
            model.save(keep)
    heading("Next steps")
    show(_next_steps(keep))


def _next_steps(kept: Path | None) -> str:
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
