"""Pages of one or several models, and of comparisons."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..config import value_text
from ..data import Dataset
from ..data.frames import labelled
from ..metrics.documents import DEFAULT_KS
from ..progress import step
from ..strings import Strings
from .blocks import Page, Section
from .defaults import EXAMPLES, SAMPLES
from .sections import calibration, claims, confused, cost, differences, frequency, inside, quality
from .subject import Cost, Evidence, Known, Subject, check_truth

if TYPE_CHECKING:
    from ..comparison import Comparison
    from ..methods import Method
    from ..studies import Study
    from ..studies.verdicts import Verdict


def report_page(
    evidence: Evidence,
    *,
    title: str | None = None,
    examples: int = EXAMPLES,
    studies: Sequence[tuple[Study, Sequence[Verdict]]] = (),
) -> Page:
    """All sections that there is something to show in; ``studies`` with the verdicts on their claims."""
    several = len(evidence.subjects) > 1
    with step("Measuring"):
        evidence.intervals  # noqa: B018  the longest part, told of before the sections need it
    pairs = differences.paired(evidence) if several else []
    with step("Putting the report together"):
        found: list[Section | None] = [
            quality.at_a_glance(evidence, pairs),
            quality.quality(evidence),
            differences.differences(evidence, pairs) if several else None,
            claims.claims(studies),
            frequency.frequency(evidence),
            calibration.calibration(evidence),
            cost.cost(evidence),
            confused.confused(evidence),
            inside.trees(evidence),
            inside.examples(evidence, examples),
            inside.models(evidence),
        ]
    names = ", ".join(subject.name for subject in evidence.subjects)
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return Page(
        title=title or f"Report: {names}",
        subtitle=f"{evidence.truth.source}: {len(evidence.truth):,} test texts",
        sections=[section for section in found if section is not None],
        footer=f"Made with treetop {__version__}, {today}.",
    )


def facts_of(model: Method) -> dict[str, str]:
    """What a reader wants to know of a model."""
    data = model.statistics
    changed = [f"{name}={value_text(value)}" for name, value in model.config.changed().items()]
    facts = {
        "method": model.name,
        "changed settings": ", ".join(changed) or "none",
        "trained on": f"{data['examples']:,} {data['input']} of {data['source']}",
        "labels": f"{data['labels']:,} ({data['labels_used']:,} with training texts)",
        "labels per text": f"{data['labels_per_example']:.2f}",
    }
    learned = data.get("calibration")
    facts["scores"] = "not calibrated" if learned is None else f"probabilities ({learned['kind']})"
    if "recipe" in data:
        facts["recipe"] = data["recipe"]
    return facts


def write_report(models: Mapping[str, Method], test: Dataset | Any, path: str | os.PathLike[str]) -> None:
    """Asks every model, by its name in the page, and writes the page; `treetop report` does the same."""
    from ..data.files import Output
    from .measuring import ask
    from .page import check_extra, to_html

    check_extra()
    test = labelled(test, "a report measures on")
    check_truth(test)
    subjects = [
        Subject(name, *ask(model, test, max(DEFAULT_KS)), facts_of(model), model)
        for name, model in models.items()
    ]
    html = to_html(report_page(of_subjects(subjects, test)))
    with Output() as output:
        output.text(Path(path)).write(html)


def of_subjects(
    subjects: Sequence[Subject], truth: Dataset, *, train: Dataset | None = None, **options: Any
) -> Evidence:
    """Label frequencies are those of ``train``, or of the first subject that is a model.

    ``options`` are those of `Evidence.of`.
    """
    models = {subject.name: subject.model for subject in subjects if subject.model is not None}
    known = None if train is None else Known(train.source, train.labels, train.label_counts, len(train))
    texts: dict[str, str] = {}
    notes = []
    for name, model in models.items():
        assert model.labels is not None
        if known is None:
            known = Known(name, model.labels, model.label_counts, model.statistics["examples"])
        if model.labels != known.labels or not np.array_equal(model.label_counts, known.counts):
            notes.append(
                f"{name} was trained on other data: label frequencies are those of {known.source} for all."
            )
        texts = _label_names(model.labels, model.label_texts) | texts
    return Evidence.of(subjects, truth, known=known, label_texts=texts, notes=notes, **options)


def of_comparison(comparison: Comparison, samples: int = SAMPLES) -> Evidence:
    """The runs of a comparison; there are no models any more, and no scores."""
    from ..comparison.variants import settings_text

    subjects = [
        Subject(
            variant.name,
            tuple(run.predictions(comparison.train.labels) for run in comparison.runs[variant.name]),
            Cost(
                train_seconds=comparison.spread(variant.name, "train_seconds").mean,
                many=comparison.spread(variant.name, "predict_milliseconds").mean,
                size=round(comparison.spread(variant.name, "bytes").mean),
                parameters=None
                if (parts := comparison.parameters(variant.name)) is None
                else sum(parts.values()),
            ),
            {
                "method": variant.method,
                "changed settings": settings_text(variant.settings).replace(",", ", ") or "none",
                "trained on": f"{len(comparison.train):,} texts of {comparison.train.source}",
                "seeds": ", ".join(map(str, comparison.seeds)),
            },
            scored=False,
        )
        for variant in comparison.variants
    ]
    train = comparison.train
    return Evidence.of(
        subjects,
        comparison.test,
        ks=comparison.conditions.ks,
        propensity=comparison.conditions.propensity,
        known=Known(train.source, train.labels, train.label_counts, len(train)),
        label_texts=_label_names(train.labels, train.label_texts),
        samples=samples,
    )


def _label_names(labels: Strings, texts: Strings | None) -> dict[str, str]:
    """Readable names of labels, where there are any."""
    return {} if texts is None else dict(zip(labels, texts, strict=True))
