"""Are scores probabilities?"""

from __future__ import annotations

from ...errors import DataError
from ...metrics import reliability
from .. import charts
from ..blocks import Block, Chart, Section, Table, Text
from ..subject import Evidence


def calibration(evidence: Evidence) -> Section | None:
    """Whether scores are probabilities; None where no subject has scores."""
    k = evidence.depth
    rows, table, others = [], [], []
    for subject in evidence.subjects:
        if not subject.scored:
            continue
        try:
            bins = reliability(subject.runs[0], evidence.truth, k=k)
        except DataError:
            others.append(subject.name)
            continue
        for item in bins:
            rows.append(
                {"model": subject.name, "score": item.score, "right": item.hits, "answers": item.pairs}
            )
            table.append(
                [
                    subject.name,
                    f"{item.low:.2f} … {item.high:.2f}",
                    f"{item.pairs:,}",
                    f"{item.score:.3f}",
                    f"{item.hits:.3f}",
                ]
            )
    if not rows and not others:
        return None
    blocks: list[Block] = [
        Text(
            f"The first {k} answers to each text, in bins of equal score. On the dashed line a score is the"
            " chance that the answer is right; below it the model is too sure of itself, above it too"
            " careful. Larger points stand for more answers. treetop calibrate learns to make scores"
            " probabilities."
        )
    ]
    if rows:
        names = list(dict.fromkeys(str(row["model"]) for row in rows))
        header = ["model", "scores", "answers", "mean score", "share right"]
        blocks.append(Chart("calibration", "Calibration curve", charts.calibration(rows, names)))
        blocks.append(Table("The bins", header, table, words=(0, 1), folded=True))
    if others:
        blocks.append(
            Text(f"No probabilities, for they leave the range 0 … 1: the scores of {', '.join(others)}.")
        )
    return Section("calibration", "Calibration", blocks)
