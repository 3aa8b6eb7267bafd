"""``treetop info``: what a model folder holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import value_text
from ..units import file_size
from .options import Json, Model
from .output import heading, show, show_json, show_table
from .reporter import duration

if TYPE_CHECKING:
    from ..methods import Method
    from ..methods.ensemble import Ensemble
    from ..tree import LabelTree


def info(
    model: Model,
    tree: Annotated[bool, typer.Option("--tree", help="Picture the top of the label tree.")] = False,
    json: Json = False,
) -> None:
    """Show a model's method, changed settings, training data, size and label tree."""
    from ..methods import load
    from ..methods.ensemble import Ensemble
    from ..store import read_manifest

    classifier = load(model, verify=False)
    label_tree: LabelTree | None = getattr(classifier, "tree", None)
    facts: dict[str, Any] = {
        "model": str(model),
        "method": classifier.name,
        "treetop": read_manifest(model)["treetop"],
        "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "changed_settings": classifier.config.changed(),
        "data": classifier.statistics,
        "calibration": classifier.statistics.get("calibration"),
        "tree": None if label_tree is None else label_tree.sizes,
    }
    if isinstance(classifier, Ensemble):
        facts["members"] = _members(classifier)
    picture = [] if label_tree is None or not tree else list(_picture(classifier, label_tree))
    if json:
        show_json(facts | ({"tree_picture": picture} if tree else {}))
        return
    heading(f"{model}: {classifier.name}")
    show_table(_rows(facts))
    if "members" in facts:
        show()
        heading("members")
        counts = "share" if facts["changed_settings"].get("rule") == "stacked" else "weight"
        show_table(map(_member_row, facts["members"]), ("method", counts, "changed settings", "scores"))
    if picture:
        show()
        show("\n".join(picture))


def _members(ensemble: Ensemble) -> list[dict[str, Any]]:
    return [
        {
            "method": member.name,
            "weight": weight,
            "changed_settings": member.config.changed(),
            "data": member.statistics,
            "calibration": member.statistics.get("calibration"),
        }
        for member, weight in zip(ensemble.members, ensemble.weights.tolist(), strict=True)
    ]


def _member_row(facts: dict[str, Any]) -> tuple[str, ...]:
    return facts["method"], f"{facts['weight']:.3f}", _settings_text(facts), _scores_text(facts)


def _settings_text(facts: dict[str, Any]) -> str:
    changed = [f"{name}={value_text(value)}" for name, value in facts["changed_settings"].items()]
    return ", ".join(changed) or "none"


def _scores_text(facts: dict[str, Any]) -> str:
    learned = facts["calibration"]
    if learned is None:
        return "not calibrated"
    return f"probabilities ({learned['kind']}, learned from {learned['examples']:,} examples)"


def _picture(classifier: Method, tree: LabelTree) -> list[str]:
    names = classifier.labels if classifier.label_texts is None else classifier.label_texts
    assert names is not None
    return list(tree.draw(names, classifier.label_counts))


def _updates_row(data: dict[str, Any]) -> list[tuple[str, str]]:
    if "updates" not in data:
        return []
    done = data["updates"]
    times = "once" if done["times"] == 1 else f"{done['times']:,} times"
    return [("updated", f"{times}: {done['examples']:,} of these examples and {done['labels']:,} labels")]


def _network_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    if "training" not in data:
        return []
    course = data["training"]
    parts = ", ".join(f"{name} {count:,}" for name, count in course["parameters"].items())
    return [
        ("parameters", f"{sum(course['parameters'].values()):,} ({parts})"),
        (
            "training",
            f"{len(course['epochs'])} epochs, the best {course['best_epoch']}, {duration(course['seconds'])}"
            f" on {course['device']} in {course['precision']}",
        ),
    ]


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    data = facts["data"]
    rows = [
        ("trained on", f"{data['examples']:,} examples ({data['input']}) from {data['source']}"),
        *_updates_row(data),
        *([("recipe", data["recipe"])] if "recipe" in data else []),
        ("labels", f"{data['labels']:,} ({data['labels_used']:,} with examples)"),
        ("labels per text", f"{data['labels_per_example']:.2f}"),
        *_network_rows(data),
        ("changed settings", _settings_text(facts)),
        ("scores", _scores_text(facts)),
    ]
    if facts["tree"] is not None:
        rows.append(("label tree", "-".join(map(str, facts["tree"]))))
    rows.append(("size", file_size(facts["bytes"])))
    rows.append(("written by", f"treetop {facts['treetop']}"))
    return rows
