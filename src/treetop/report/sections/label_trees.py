"""The label tree of every model that has one."""

from __future__ import annotations

from ...tree import LabelTree
from ...units import counted
from ..blocks import ModelPart, Paragraph, Section, TreeView
from ..evidence import Evidence
from ..label_tree import tree_data


def label_trees(evidence: Evidence) -> Section | None:
    """Label trees to open node by node; None without any."""
    parts = []
    for place, reported in enumerate(evidence.models):
        tree = None if reported.model is None else reported.model.tree
        if tree is not None:
            data = tree_data(evidence, place, tree)
            text = f"Levels from the top: {_levels(tree)}."
            if data["left_out"]:
                text += f" {counted(data['left_out'], 'rarer label')} counted, but not listed."
            parts.append(ModelPart(reported.name, [Paragraph(text), TreeView(f"tree-{place + 1}", data)]))
    if not parts:
        return None
    legend = Paragraph(
        "Clusters are named after their most frequent labels. Bars and percentages: of all occurrences in"
        f" the test data of the labels below a node, the share found among the first {evidence.depth}"
        " predictions."
    )
    return Section("tree", "Label tree", [legend], parts)


def _levels(tree: LabelTree) -> str:
    """``16 clusters, 566 labels``"""
    *clusters, labels = tree.sizes
    return ", ".join([*(counted(count, "cluster") for count in clusters), counted(labels, "label")])
