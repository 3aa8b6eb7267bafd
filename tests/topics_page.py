"""Helpers for the tests of the page: a model of a dozen topics, actions on the page, and their results."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import re
import sqlite3
from pathlib import Path

from playwright.sync_api import Page, expect

import treetop
from treetop.data import Dataset

PERCENT = re.compile(r"^\d+(\.\d)?%$")
EVIL = "<img src=x onerror=alert(1)>"
TOPICS = {
    "astronomy": "telescope planet comet galaxy",
    "gardening": "roses soil compost watering",
    "cooking": "oven flour recipe butter",
    "sailing": "harbour mast anchor wind",
    "photography": "camera lens shutter tripod",
    "music::jazz": "saxophone swing improvisation trumpet",
    "music::opera": "soprano libretto aria overture",
    "chess": "bishop checkmate opening pawn",
    "beekeeping": "hive honey swarm queen",
    "geology": "basalt quartz strata fault",
    "weaving": "loom warp weft yarn",
    EVIL: "script alert cookie injection",
}


def make_model(folder: Path) -> None:
    """Saves a calibrated tree model of the topics, with metrics for its card."""
    from treetop.serve.card import measure

    rng = random.Random(0)
    texts, labels = [], []
    for topic, words in TOPICS.items():
        for _ in range(12):
            other = rng.choice(list(TOPICS))
            chosen = rng.sample(words.split(), 3) + rng.sample(TOPICS[other].split(), 1)
            texts.append(f"about the {' and the '.join(chosen)}")
            labels.append([topic])
    data = Dataset.from_texts(texts, labels)
    fitted = treetop.XRLinear(leaf_size=3, branching=3, calibration="platt", calibration_share=0.3, threads=1)
    fitted.fit(data).save(folder)
    measure(treetop.load(folder), data, folder)


def rows(page: Page):
    return page.locator(".suggestion")


def write(page: Page, text: str) -> None:
    """Enters a text and waits for the explanations of its suggestions."""
    with page.expect_response(lambda answer: "explain" in (answer.request.post_data or "")):
        page.fill("#text", text)
    expect(rows(page).first.locator(".words")).to_be_attached()


def row(page: Page, label: str):
    return rows(page).filter(has=page.locator(".name", has_text=label)).first


def stored(topics: Path) -> list[dict]:
    """The entries of the feedback store."""
    with contextlib.closing(sqlite3.connect(topics.parent / "feedback.sqlite")) as store:
        store.row_factory = sqlite3.Row
        found = [dict(line) for line in store.execute("SELECT * FROM feedback ORDER BY id")]
    lists = ("suggested", "accepted", "rejected", "added")
    return [line | {name: json.loads(line[name]) for name in lists} for line in found]


def file(name: str, content: str) -> dict:
    return {"name": name, "mimeType": "text/plain", "buffer": content.encode()}


def drop(page: Page, name: str, content: str) -> None:
    script = """([name, content]) => {
        const data = new DataTransfer();
        data.items.add(new File([content], name));
        const options = {dataTransfer: data, bubbles: true, cancelable: true};
        document.body.dispatchEvent(new DragEvent("drop", options));
    }"""
    page.evaluate(script, [name, content])


def downloaded(page: Page) -> list[list[str]]:
    with page.expect_download() as caught:
        page.click("#batch-download")
    content = caught.value.path().read_text("utf-8-sig")
    return list(csv.reader(io.StringIO(content, newline=""), strict=True))
