"""`reproduce`: trains the members of a plan, one after the other, and measures them and their ensemble.

    OUT/plan.json              the recipe, and a hash of the data
    OUT/members/NAME           trained models; NAME.json: their settings; NAME.unfinished: checkpoints
    OUT/predictions/NAME.npz   ranked labels of the test texts, with what prediction took

A run that was stopped resumes from them, and members may be trained by several processes at a time. A process
has one model in memory at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native, store
from ..arrays import UNREADABLE
from ..checkpoints import keeping
from ..config import value_text
from ..data import Dataset
from ..data.digest import data_digest
from ..data.files import Output
from ..errors import ConfigError, DataError, ModelError
from ..machine import peak_memory
from ..metrics import DEFAULT_PROPENSITY, evaluate, parse_metric
from ..metrics.propensity import PROPENSITY
from ..model_arrays import of_types
from ..predictions import Predictions
from ..progress import step
from ..ranked import Ranked
from ..recipes import ENSEMBLE
from ..regular_files import open_regular, read_regular
from ..units import counted
from .plan import Plan, PlannedMember

if TYPE_CHECKING:
    from ..methods import Method

DEPTH = 100
"""Labels that each member ranks for an ensemble."""
PLAN = "plan.json"


@dataclass(frozen=True, eq=False)
class Measured:
    """A trained member, or the ensemble, and what was measured of it."""

    name: str
    predictions: Predictions
    numbers: Mapping[str, float]
    """Metrics in percent; training hours, ms per text and model GB where they are known."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Method, settings and training data, for display."""


def reproduce(
    plan: Plan,
    train: Dataset,
    test: Dataset,
    output: str | os.PathLike[str],
    *,
    resume: bool = False,
    threads: int | None = None,
    device: str | None = None,
) -> list[Measured]:
    """Trains and measures every member of the plan, then their ensemble; ``output`` keeps the models."""
    folder = Path(output)
    machine = {name: value for name, value in (("threads", threads), ("device", device)) if value is not None}
    begun = folder.exists()
    _begin(plan, folder, data_digest(train, test), resume=resume)
    measured: list[Measured] = []
    for number, member in enumerate(plan.members, 1):
        with step(f"Member {number} of {len(plan.members)}, {member.name}"):
            try:
                _train(plan, member, train, folder, machine, resume=resume)
            except ConfigError:
                if not begun:
                    _remove_unused(folder)
                raise
            measured.append(_measure(plan, member, train, test, folder, machine))
    if plan.rule:
        measured.append(_combine(plan, measured, train, test, folder))
    return measured


def _begin(plan: Plan, folder: Path, digest: str, *, resume: bool) -> None:
    """Writes which recipe and data the folder is for, or checks that it is for these."""
    content = {"recipe": plan.recipe.name, "data": digest}
    path = folder / PLAN
    if path.exists():
        if not resume:
            raise ConfigError(
                f"{folder}: holds an earlier run: add --resume to continue it, or name another --output"
            )
        earlier = _read_json(path)
        for key, value in content.items():
            if earlier.get(key) != value:
                raise ConfigError(
                    f"{folder}: holds a run with other {key}: repeat its command, or name another --output"
                )
        return
    # Another process may be writing the plan now, under a hidden name.
    if folder.exists() and any(not item.name.startswith(".") for item in folder.iterdir()):
        raise ConfigError(f"{folder}: is not empty and holds no earlier run: name another --output")
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(path, content)


def _remove_unused(folder: Path) -> None:
    """Removes the folder if no member was begun, by this process or another."""
    with contextlib.suppress(OSError):
        (folder / "members").rmdir()
        (folder / PLAN).unlink()
        folder.rmdir()


def _keep_settings(member: PlannedMember, path: Path) -> bool:
    """Writes the settings of a member, True, or checks that it was begun with them, False."""
    settings = {name: value_text(value) for name, value in member.config.changed().items()}
    if not path.exists():
        _write_json(path, settings)
        return True
    earlier = _read_json(path)
    for name in settings | earlier:
        if settings.get(name) != earlier.get(name):
            was, now = (
                f"{name}={found[name]}" if name in found else f"the default {name}"
                for found in (earlier, settings)
            )
            raise ConfigError(
                f"{path.parent.parent}: {member.name} was begun with {was}, not with {now}: repeat its"
                " command, or name another --output"
            )
    return False


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read ({error}): name another --output") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: is not a JSON object: name another --output")
    return found


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with Output() as out:
        out.text(path).write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _model_folder(folder: Path, name: str) -> Path:
    return folder / "members" / name


def _train(
    plan: Plan,
    member: PlannedMember,
    train: Dataset,
    folder: Path,
    machine: Mapping[str, Any],
    *,
    resume: bool,
) -> None:
    from ..methods import method_class

    target = _model_folder(folder, member.name)
    target.parent.mkdir(exist_ok=True)
    config = member.config
    if member.needs is not None:
        config = config.replace_settings({"index_encoder": str(_model_folder(folder, member.needs))})
    config = config.replace_settings(
        {name: value for name, value in machine.items() if config.has_setting(name)}
    )
    model = method_class(member.method)(config)
    kept = target.with_name(f"{member.name}.json")
    if (target / store.MANIFEST).exists():
        _keep_settings(member, kept)
        return
    with store.reserved(target):
        new = _keep_settings(member, kept)
        if (target / store.MANIFEST).exists():  # another process has trained it meanwhile
            return
        unfinished = target.with_name(f"{member.name}.unfinished")
        resumed = resume and unfinished.exists()
        began = time.monotonic()
        with keeping(unfinished, resume=resume):
            try:
                model.fit(train)
            except ConfigError:
                if new:
                    kept.unlink()
                raise
            model.statistics |= {"recipe": plan.recipe.name, "recipe_member": member.name}
            if not resumed:  # the time before a kill is not known
                seconds = round(time.monotonic() - began, 3)
                model.statistics["spent"] = {"seconds": seconds, "peak_bytes": peak_memory()}
            model.save(target)


def _measure(
    plan: Plan,
    member: PlannedMember,
    train: Dataset,
    test: Dataset,
    folder: Path,
    machine: Mapping[str, Any],
) -> Measured:
    """Predicts with the stored model, or reads what it predicted before the run was stopped."""
    from ..methods import load

    target = _model_folder(folder, member.name)
    kept = folder / "predictions" / f"{member.name}.npz"
    found = _read(kept, train)
    if found is None:
        model = load(target, **machine)
        found = _predict(model, test)
        _keep(kept, *found)
    predictions, seconds = found
    manifest = store.read_manifest(target)
    numbers = _metrics(plan, predictions, train, test)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    spent = manifest["data"].get("spent")
    if spent is not None:
        numbers["training hours"] = spent["seconds"] / 3600
    numbers |= {"ms per text": 1000 * seconds / max(len(test), 1), "model GB": size / 1e9}
    return Measured(member.name, predictions, numbers, _facts(member, manifest))


def _facts(member: PlannedMember, manifest: Mapping[str, Any]) -> dict[str, str]:
    data = manifest["data"]
    changed = ", ".join(f"{name}={value_text(value)}" for name, value in member.config.changed().items())
    return {
        "method": member.method,
        "changed settings": changed or "none",
        "trained on": f"{data['examples']:,} {data['input']} of {data['source']}",
        "labels": f"{data['labels']:,} ({data['labels_used']:,} with training texts)",
        **_training_facts(data.get("training")),
    }


def _training_facts(log: Mapping[str, Any] | None) -> dict[str, str]:
    """Of a network: how often the loss was logged, its last value, and how many steps were clipped."""
    if not log or not log["epochs"]:
        return {}
    clipped = f", gradients clipped in {log['clipped']:.0%} of the steps" if "clipped" in log else ""
    last = log["epochs"][-1]["loss"]
    return {"training": f"{counted(len(log['epochs']), 'epoch')}, last loss {last:.3g}{clipped}"}


def _predict(model: Method, test: Dataset) -> tuple[Predictions, float]:
    k = min(DEPTH, len(model.known_labels))
    model.predict(test[:1], k)  # exclude what is set up on first use
    began = time.perf_counter()
    with step("Predicting"):
        predictions = model.predict(test, k)
    return predictions, time.perf_counter() - began


def _keep(path: Path, predictions: Predictions, seconds: float) -> None:
    path.parent.mkdir(exist_ok=True)
    with Output() as out:
        np.savez(
            out.binary(path),
            indptr=predictions.indptr,
            indices=predictions.indices,
            scores=predictions.scores,
            seconds=np.array(seconds),
        )


_KEPT: dict[str, type[np.generic]] = {"indptr": np.int64, "indices": np.int32, "scores": np.float32}


def _read(path: Path, train: Dataset) -> tuple[Predictions, float] | None:
    """What `_keep` wrote; None if it is missing or damaged."""
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as arrays:
            parts = of_types(arrays, _KEPT)
            found = Predictions(parts["indptr"], parts["indices"], parts["scores"], train.labels)
            return found, float(arrays["seconds"])
    except ModelError:
        return None
    except UNREADABLE:
        return None


def _metrics(plan: Plan, predictions: Predictions, train: Dataset, test: Dataset) -> dict[str, float]:
    """The metrics of any published row, and P, R, nDCG and PSP at 1, 3 and 5."""
    names = {name for row in plan.recipe.published for name in row.scores}
    wanted = {parse_metric(name) for name in names if "@" in name}
    ks = tuple(sorted({1, 3, 5} | {k for _, k in wanted}))
    metrics = tuple(dict.fromkeys(["P", "R", "nDCG", "PSP", *sorted(name for name, _ in wanted)]))
    constants = PROPENSITY.get(plan.recipe.data_set.name, DEFAULT_PROPENSITY)
    return evaluate(predictions, test, train=train, ks=ks, metrics=metrics, propensity=constants).to_dict()


def _combine(
    plan: Plan, members: Sequence[Measured], train: Dataset, test: Dataset, folder: Path
) -> Measured:
    from ..methods.list_rules import rescaled

    assert plan.rule is not None
    most = [one.predictions.top(plan.recipe.depth or DEPTH) for one in members]
    lists = [Ranked(one.indptr, one.indices, one.scores) for one in most]
    began = time.perf_counter()
    share = 1 / len(lists)
    best = _native.combine(rescaled(lists, plan.rule), [share] * len(lists), DEPTH, 0)
    seconds = time.perf_counter() - began
    predictions = Predictions(*best, train.labels, members[0].predictions.ids)
    numbers = _metrics(plan, predictions, train, test)
    for name in ("training hours", "ms per text", "model GB"):
        if all(name in one.numbers for one in members):
            numbers[name] = sum(one.numbers[name] for one in members)
    numbers["ms per text"] += 1000 * seconds / max(len(test), 1)
    facts = {"method": "ensemble", "rule": plan.rule, "members": ", ".join(one.name for one in members)}
    return Measured(ENSEMBLE, predictions, numbers, facts)
