"""Markup, formulas and line breaks in texts, labels and names: in a browser, in spreadsheets and in the log.

    python bench/attacks/injections.py [--seconds 60] [--seed 0]

A trial is one test of the page, the report or their downloads in a real browser (make browser), or one text
with markup in a report, in a request or in its path. It fails if markup, a formula or a made-up line of the
log comes through, or if the test is skipped.
"""

from __future__ import annotations

import html.parser
import json
import random
import re
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree as ET
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import treetop
from small_servers import live, save_model
from treetop.cli.main import main as treetop_main
from trials import TESTS, Trials, attack, run

IN_BROWSER = (
    "test_page_looks.py::test_markup_in_labels_and_texts_is_shown_as_text",
    "test_page_many_texts.py::test_no_cell_is_a_formula_for_a_spreadsheet",
    "test_page_one_text.py::test_the_page_loads_no_external_resources",
    "test_report_browser.py::test_a_label_in_a_tooltip_is_only_text",
    "test_report.py::test_nothing_in_texts_and_labels_reaches_the_markup",
)
PIECES = [
    *(
        "<script>evil()</script>",
        "</script>",
        "<img src=x onerror=evil()>",
        "<!--",
        "-->",
        "]]>",
        "<svg/onload=evil()>",
    ),
    *(
        '"onmouseover="evil()',
        "'onclick='evil()",
        "javascript:evil()",
        "&lt;script&gt;",
        "{{evil()}}",
        "${evil()}",
    ),
    *(
        "\u2028",
        "\x00",
        "\x1b[31m",
        "\r\n2026-01-01 00:00:00,000 ERROR made up",
        "=cmd|'/c calc'!A1",
        "\ud83d\ude00",
        "%0a",
    ),
]
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING|ERROR) ")


@attack(
    "injection/browser",
    "markup or a formula of a text, label or name takes effect",
)
def in_browser(trials: Trials) -> None:
    """Repeats the tests for which a browser is needed."""
    while trials.go_on():
        with tempfile.TemporaryDirectory() as place:
            report = Path(place) / "report.xml"
            tests = [str(TESTS / name) for name in IN_BROWSER]
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:xdist",
                f"--junit-xml={report}",
                *tests,
            ]
            said = subprocess.run(
                command, capture_output=True, encoding="utf-8", cwd=TESTS.parent, check=False
            ).stdout
            for case in ET.parse(report).getroot().iter("testcase"):
                trials.count(f"{case.get('name')}: {said[-2000:]}" if len(case) else None)


def evil(rng: random.Random) -> str:
    words = [
        rng.choice(PIECES).encode("utf-16", "surrogatepass").decode("utf-16", "ignore") for _ in range(3)
    ]
    return "cat " + " ".join(words) + str(rng.randrange(1000))


class Tags(html.parser.HTMLParser):
    """The event handlers of a page, and other attributes that begin with what was injected."""

    def __init__(self) -> None:
        super().__init__()
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handlers += [
            name for name, value in attrs if name.startswith("on") or "evil" in f"{name}{value}"[:40]
        ]


@attack(
    "injection/reports",
    "markup of a text or label reaches the page",
)
def reports(trials: Trials) -> None:
    """Texts and labels with markup in an HTML report."""
    while trials.go_on():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            labels = [evil(trials.random).replace("\n", " ").replace("\r", " ") for _ in range(4)]
            rows = [{"text": evil(trials.random), "labels": [labels[row % 4]]} for row in range(24)]
            (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            treetop.XRLinear(threads=1).fit(treetop.read(folder / "train.jsonl")).save(folder / "m")
            try:
                treetop_main(
                    [
                        "-q",
                        "report",
                        str(folder / "m"),
                        str(folder / "train.jsonl"),
                        "--output",
                        str(folder / "r.html"),
                    ]
                )
            except SystemExit as end:
                assert not end.code, end.code
            page = (folder / "r.html").read_text("utf-8")
            tags = Tags()
            tags.feed(page)
            scripts = re.findall(r"<script(?![^>]*application/json)[^>]*>(.*?)</script>", page, re.S)
            bad = tags.handlers or any("evil()" in text for text in scripts)
            trials.count(f"{tags.handlers} in the report of {labels}" if bad else None, len(rows))


@attack(
    "injection/log",
    "a client writes a line of its own into the log",
)
def log(trials: Trials) -> None:
    """Paths, queries, headers and texts in the log of a server: one line for each message."""
    with tempfile.TemporaryDirectory() as place:
        save_model(Path(place) / "m")
        with live(Path(place) / "m", "--feedback", Path(place) / "f.sqlite", "--log-requests") as server:
            while trials.go_on():
                word = evil(trials.random)
                quoted = urllib.parse.quote(word, errors="replace")
                method, path, body = trials.random.choice(
                    [
                        ("GET", f"/v1/models/{quoted}/card", None),
                        ("GET", f"/v1/labels?q={quoted}&model={quoted}", None),
                        ("GET", f"/{quoted}", None),
                        ("POST", "/v1/predict", {"text": word, "model": word}),
                        ("POST", "/v1/feedback", {"text": word, "added": [word], "client": word}),
                    ]
                )
                status, answer, headers = server.ask(method, path, body)
                kind = headers.get("content-type", "")
                good = (
                    status < 500 and kind.startswith("application/json") and headers["x-content-type-options"]
                )
                trials.count(
                    None if good and "evil" not in str(headers) else f"{word!r}: {status} {answer} {headers}"
                )
        odd = [line for line in server.lines if not LOG_LINE.match(line) or "\x1b" in line]
        trials.count(f"the log has {odd[:3]}" if odd else None)


if __name__ == "__main__":
    sys.exit(run(__doc__))
