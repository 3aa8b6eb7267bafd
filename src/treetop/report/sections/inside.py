"""What is inside each model: its facts, its label tree, and the texts it answered best and worst."""

from __future__ import annotations

from ...progress import step
from ...tree import LabelTree
from ..blocks import Block, Examples, Part, Section, Table, Text, TreeView
from ..examples import best_and_worst, example
from ..label_tree import tree_data
from ..subject import Evidence


def models(evidence: Evidence) -> Section | None:
    """Methods, settings and training data."""
    facts = list(dict.fromkeys(name for subject in evidence.subjects for name in subject.facts))
    if not facts:
        return None
    names = [subject.name for subject in evidence.subjects]
    rows = [[fact, *(subject.facts.get(fact, "") for subject in evidence.subjects)] for fact in facts]
    everything = tuple(range(len(names) + 1))
    return Section("models", "Models", [Table("What was measured", ["", *names], rows, words=everything)])


def trees(evidence: Evidence) -> Section | None:
    """Label trees of the models that have one."""
    parts = []
    for place, subject in enumerate(evidence.subjects):
        tree = getattr(subject.model, "tree", None)
        if isinstance(tree, LabelTree):
            data = tree_data(evidence, place, tree)
            text = f"Levels from the top: {_levels(tree)}."
            if data["left_out"]:
                text += f" {data['left_out']:,} rarer labels are counted, but not listed."
            parts.append(Part(subject.name, [Text(text), TreeView(f"tree-{place + 1}", data)]))
    if not parts:
        return None
    says = Text(
        "Clusters are named after their most frequent labels. Bars and figures: the share of the occurrences"
        f" below a node in the test data that is found among the first {evidence.depth}."
    )
    return Section("tree", "Label tree", [says], parts)


def _levels(tree: LabelTree) -> str:
    """``16 clusters, 566 labels``"""
    *clusters, labels = tree.sizes
    return ", ".join([*(f"{count:,} clusters" for count in clusters), f"{labels:,} labels"])


def examples(evidence: Evidence, count: int) -> Section | None:
    """The best and worst texts of every model; None where the test data are features."""
    if count < 1 or evidence.truth.texts is None:
        return None
    parts = []
    with step("Explaining examples") as report:
        for place, subject in enumerate(evidence.subjects):
            best, worst = best_and_worst(evidence, place, count)
            blocks: list[Block] = []
            for caption, rows in (("Worst", worst), ("Best", best)):
                if rows:
                    shown = [example(evidence, place, row) for row in rows]
                    blocks.append(Examples(f"{caption} answers", shown))
            parts.append(
                Part(
                    subject.name, blocks or [Text("There are too few texts to tell the best from the worst.")]
                )
            )
            report(place + 1, len(evidence.subjects))
    explained = any(subject.model is not None and subject.model.can_explain for subject in evidence.subjects)
    marks = (
        " Open a label to see why it was given or not: words that speak for it are marked and underlined,"
        " words against it have a dashed line; the stronger the mark, the more a word adds."
        if explained
        else ""
    )
    text = Text(
        f"Texts by nDCG@{evidence.depth}. Among equals the worst are those with the highest wrong score, the"
        f" best those with few missing and most labels.{evidence.of_first_seed}{marks}"
    )
    return Section("examples", "Best and worst answers", [text], parts)
