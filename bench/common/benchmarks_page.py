"""docs/benchmarks.md: an introduction and sections, each written by the benchmark that measured it."""

from __future__ import annotations

from pathlib import Path

SIDE_BY_SIDE, GOALS, SEEDS, PROFILE, TFIDF, GROWTH, SERVING, LABEL_SEARCH = (
    "Side by side",
    "Goals",
    "Several seeds",
    "Where the training time goes",
    "TF-IDF",
    "Growth with the number of labels",
    "Serving",
    "Label search",
)
ORDER = (SIDE_BY_SIDE, GOALS, SEEDS, PROFILE, TFIDF, GROWTH, SERVING, LABEL_SEARCH)
TITLE = "# Benchmarks\n"


def put(page: Path, sections: dict[str, str], introduction: str | None = None) -> None:
    """Replaces some sections and, where given, the introduction; the others stay as they are."""
    start, present = split(page.read_text("utf-8") if page.exists() else TITLE)
    if introduction is not None:
        start = f"{TITLE}\n{introduction.strip()}\n"
    present |= sections
    parts = [start.strip(), *(f"## {name}\n\n{present[name].strip()}" for name in ORDER if name in present)]
    fresh = page.with_name(f".{page.name}.new")
    fresh.write_text("\n\n".join(parts) + "\n", "utf-8")
    fresh.replace(page)


def split(text: str) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the sections by name."""
    start, *rest = ("\n" + text).split("\n## ")
    return start, {part.partition("\n")[0].strip(): part.partition("\n")[2] for part in rest}
