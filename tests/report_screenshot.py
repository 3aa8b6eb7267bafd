"""The picture of a report in the documentation: ``python tests/report_screenshot.py docs/images/report.png``.

Two models of the documentation of Python (``treetop data build python-docs``): two sections on the left, the
chart of confusions and two explained texts on the right.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator

import browser
import treetop
from treetop.data import builtin
from treetop.report.build import write_report

COLOURS = 128
GAP = 24


def main(picture: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch, browser.opened() as chromium:
        page = Path(scratch) / "report.html"
        splits = builtin.build("python-docs")
        models = {
            name: treetop.make(method).fit(splits["train"])
            for name, method in (("xr-linear", "xr-linear"), ("neighbours", "neighbours"))
        }
        write_report(models, splits["test"], page)
        columns = [stacked(column) for column in excerpts(chromium, page)]
    width = sum(column.width for column in columns) + 3 * GAP
    whole = Image.new("RGB", (width, max(column.height for column in columns) + 2 * GAP), "white")
    whole.paste(columns[0], (GAP, GAP))
    whole.paste(columns[1], (columns[0].width + 2 * GAP, GAP))
    whole.quantize(COLOURS).save(picture, optimize=True)


def excerpts(chromium: Browser, report: Path) -> list[list[Image.Image]]:
    page = chromium.new_page(viewport={"width": 960, "height": 900})
    page.goto(report.as_uri())
    page.locator("#chart-confusions-1 svg").wait_for()
    left = [page.locator("#quality"), page.locator("#differences")]
    right = [page.locator("#chart-confusions-1"), *page.locator("#examples article").all()[:2]]
    return [[taken(piece) for piece in column] for column in (left, right)]


def taken(piece: Locator) -> Image.Image:
    return Image.open(io.BytesIO(piece.screenshot())).convert("RGB")


def stacked(images: list[Image.Image]) -> Image.Image:
    height = sum(image.height for image in images) + GAP * (len(images) - 1)
    column = Image.new("RGB", (max(image.width for image in images), height), "white")
    top = 0
    for image in images:
        column.paste(image, (0, top))
        top += image.height + GAP
    return column


if __name__ == "__main__":
    main(Path(sys.argv[1]))
