"""Builds the page of a report, from one or more models or from a comparison."""

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
from ..units import counted
from .blocks import Page, Section
from .defaults import EXAMPLES, SAMPLES
from .evidence import Cost, Evidence, ReportedModel, TrainingCounts, check_truth
from .sections.at_a_glance import at_a_glance
from .sections.calibration import calibration
from .sections.claims import claims
from .sections.confusions import confusions
from .sections.cost import cost
from .sections.differences import differences, paired_tests
from .sections.examples import examples
from .sections.frequency import frequency
from .sections.label_trees import label_trees
from .sections.models import models
from .sections.quality import quality

if TYPE_CHECKING:
    from ..ablations import Ablation
    from ..ablations.verdicts import Verdict
    from ..comparison import Comparison
    from ..methods import Method


def report_page(
    evidence: Evidence,
    *,
    title: str | None = None,
    example_count: int = EXAMPLES,
    ablations: Sequence[tuple[Ablation, Sequence[Verdict]]] = (),
    first: Sequence[Section] = (),
) -> Page:
    """The page with all sections that have content; ``ablations`` with the verdicts on their claims.

    ``first``: sections above all others.
    """
    several = len(evidence.models) > 1
    with step("Evaluating"):
        evidence.intervals  # noqa: B018  computed here because it takes longest
    tests = paired_tests(evidence) if several else []
    with step("Building the report"):
        sections: list[Section | None] = [
            *first,
            at_a_glance(evidence, tests),
            quality(evidence),
            differences(evidence, tests) if several else None,
            claims(ablations),
            frequency(evidence),
            calibration(evidence),
            cost(evidence),
            confusions(evidence),
            label_trees(evidence),
            examples(evidence, example_count),
            models(evidence),
        ]
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return Page(
        title=title or f"Report: {', '.join(evidence.names)}",
        subtitle=f"{evidence.truth.source}: {counted(len(evidence.truth), 'test text')}",
        sections=[section for section in sections if section is not None],
        footer=f"Made with treetop {__version__}, {today}.",
    )


def model_facts(model: Method) -> dict[str, str]:
    """Method, settings and training data of a model."""
    data = model.statistics
    changed = [f"{name}={value_text(value)}" for name, value in model.config.changed().items()]
    facts = {
        "method": model.name,
        "changed settings": ", ".join(changed) or "none",
        "trained on": f"{data['input']} of {data['source']}",
        "labels": f"{data['labels']:,} ({data['labels_used']:,} with training texts)",
    }
    if data["examples"] is not None:
        facts["trained on"] = f"{data['examples']:,} {facts['trained on']}"
        facts["labels per text"] = f"{data['labels_per_example']:.2f}"
    learned = data.get("calibration")
    facts["scores"] = "not calibrated" if learned is None else f"probabilities ({learned['kind']})"
    if "recipe" in data:
        facts["recipe"] = data["recipe"]
    return facts


def write_report(models: Mapping[str, Method], test: Dataset | Any, path: str | os.PathLike[str]) -> None:
    """Evaluates models on test data and writes the report, as `treetop report` does.

    Args:
        models: trained models by their name in the report.
        test: labelled test data.
        path: the HTML file.
    """
    from ..data.files import Output
    from .html import check_extra, to_html
    from .measuring import predict_and_measure

    check_extra()
    test = labelled(test, "the test data must be")
    check_truth(test)
    reported = [
        ReportedModel(name, *predict_and_measure(model, test, max(DEFAULT_KS)), model_facts(model), model)
        for name, model in models.items()
    ]
    html = to_html(report_page(evidence_of_models(reported, test)))
    with Output() as output:
        output.text(Path(path)).write(html)


def evidence_of_models(
    models: Sequence[ReportedModel], truth: Dataset, *, train: Dataset | None = None, **options: Any
) -> Evidence:
    """Evidence with the label frequencies of ``train``, or of the first trained model.

    ``options`` are those of `Evidence.of`.
    """
    trained = {reported.name: reported.model for reported in models if reported.model is not None}
    training = None if train is None else _counts_of(train)
    texts: dict[str, str] = {}
    notes = []
    for name, model in trained.items():
        assert model.labels is not None
        texts = _label_names(model.labels, model.label_texts) | texts
        if not model.training_counts:
            continue
        if training is None:
            training = TrainingCounts(name, model.labels, model.label_counts, model.statistics["examples"])
        if model.labels != training.labels or not np.array_equal(model.label_counts, training.counts):
            notes.append(
                f"{name} was trained on different data: label frequencies are those of {training.source} for"
                " all models."
            )
    return Evidence.of(models, truth, training=training, label_texts=texts, notes=notes, **options)


def evidence_of_comparison(comparison: Comparison, samples: int = SAMPLES) -> Evidence:
    """Evidence from the runs of a comparison, which keep neither models nor scores."""
    from ..comparison.variants import settings_text

    def mean(variant: str, number: str) -> float:
        return comparison.spread(variant, number).mean

    train = comparison.train
    models = []
    for variant in comparison.variants:
        parts = comparison.parameters(variant.name)
        cost = Cost(
            train_seconds=mean(variant.name, "train_seconds"),
            batch_milliseconds=mean(variant.name, "predict_milliseconds"),
            stored_bytes=round(mean(variant.name, "bytes")),
            parameters=None if parts is None else sum(parts.values()),
        )
        facts = {
            "method": variant.method,
            "changed settings": settings_text(variant.settings).replace(",", ", ") or "none",
            "trained on": f"{len(train):,} texts of {train.source}",
            "seeds": ", ".join(map(str, comparison.seeds)),
        }
        runs = tuple(run.predictions(train.labels) for run in comparison.runs[variant.name])
        models.append(ReportedModel(variant.name, runs, cost, facts, scored=False))
    return Evidence.of(
        models,
        comparison.test,
        ks=comparison.conditions.ks,
        propensity=comparison.conditions.propensity,
        training=_counts_of(train),
        label_texts=_label_names(train.labels, train.label_texts),
        samples=samples,
    )


def _counts_of(train: Dataset) -> TrainingCounts:
    return TrainingCounts(train.source, train.labels, train.label_counts, len(train))


def _label_names(labels: Strings, texts: Strings | None) -> dict[str, str]:
    """Readable names of labels, if any."""
    return {} if texts is None else dict(zip(labels, texts, strict=True))
