"""Calibration curves: are scores probabilities?"""

from __future__ import annotations

from ...errors import DataError
from ...metrics import reliability
from .. import charts
from ..blocks import Block, Chart, Paragraph, Section, Table
from ..evidence import Evidence


def calibration(evidence: Evidence) -> Section | None:
    """The calibration curve of every model; None if no model has scores."""
    k = evidence.depth
    rows, table, uncalibrated = [], [], []
    for reported in evidence.models:
        if not reported.scored:
            continue
        try:
            bins = reliability(reported.runs[0], evidence.truth, k=k)
        except DataError:
            uncalibrated.append(reported.name)
            continue
        for item in bins:
            rows.append(
                {
                    "model": reported.name,
                    "score": item.score,
                    "correct": item.hits,
                    "predictions": item.pairs,
                }
            )
            table.append(
                [
                    reported.name,
                    f"{item.low:.2f} … {item.high:.2f}",
                    f"{item.pairs:,}",
                    f"{item.score:.3f}",
                    f"{item.hits:.3f}",
                ]
            )
    if not rows and not uncalibrated:
        return None
    blocks: list[Block] = [
        Paragraph(
            f"The first {k} predictions for each text, in bins of equal score width. On the dashed line, a"
            " score is the probability that the label is correct; below it the model is overconfident, above"
            " it underconfident. Larger points contain more predictions. treetop calibrate turns scores into"
            " probabilities."
        )
    ]
    if rows:
        names = list(dict.fromkeys(str(row["model"]) for row in rows))
        header = ["model", "scores", "predictions", "mean score", "share correct"]
        blocks.append(Chart("calibration", "Calibration curve", charts.calibration(rows, names)))
        blocks.append(Table("The bins", header, table, words=(0, 1), folded=True))
    if uncalibrated:
        blocks.append(
            Paragraph(
                f"Not probabilities, because they lie outside 0 … 1: the scores of {', '.join(uncalibrated)}."
            )
        )
    return Section("calibration", "Calibration", blocks)
