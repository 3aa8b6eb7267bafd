"""The texts with the best and the worst predictions of every model."""

from __future__ import annotations

from ...progress import step
from ..blocks import Block, ModelPart, Paragraph, PredictedTexts, Section
from ..evidence import Evidence
from ..predicted_texts import best_and_worst, predicted_text


def examples(evidence: Evidence, count: int) -> Section | None:
    """The best and worst texts of every model; None if the test data has no texts."""
    if count < 1 or evidence.truth.texts is None:
        return None
    parts = []
    with step("Explaining examples") as report:
        for place, reported in enumerate(evidence.models):
            best, worst = best_and_worst(evidence, place, count)
            blocks: list[Block] = []
            for caption, rows in (("Worst predictions", worst), ("Best predictions", best)):
                if rows:
                    texts = [predicted_text(evidence, place, row) for row in rows]
                    blocks.append(PredictedTexts(caption, texts))
            too_few = Paragraph("Too few texts to list the best and the worst separately.")
            parts.append(ModelPart(reported.name, blocks or [too_few]))
            report(place + 1, len(evidence.models))
    explained = any(reported.model is not None and reported.model.can_explain for reported in evidence.models)
    legend = (
        " Open a label to see why it was predicted or missed: words in its favour are highlighted and"
        " underlined, words against it have a dashed underline; a stronger highlight means a larger"
        " contribution."
        if explained
        else ""
    )
    text = Paragraph(
        f"Texts by nDCG@{evidence.depth}. Among equal values, the worst texts are those with the highest"
        " wrong score, and the best those with the fewest missed and the most"
        f" labels.{evidence.first_seed_note}{legend}"
    )
    return Section("examples", "Best and worst predictions", [text], parts)
