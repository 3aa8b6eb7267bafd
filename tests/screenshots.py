"""Screenshots of the web page for the documentation: ``python tests/screenshots.py docs/images``.

The model is trained on Debian's package descriptions and tags (``treetop data build debian-tags``); the texts
in the screenshots are made up.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

import browser
import treetop
from treetop.data import builtin
from treetop.serve.card import measure

TEXT = (
    "A program to catalogue photographs. It reads the data that digital cameras write into pictures, sorts "
    "them into albums by date and place, and prints contact sheets. It has a graphical interface for GNOME "
    "and can also be run from the command line."
)
STOCK = [
    ("clock", "A small clock for the desktop that rings at set times and shows the phases of the moon."),
    ("player", "Plays music from the command line: MP3, Ogg Vorbis and FLAC, with playlists and radio."),
    ("letters", "Reads, sorts and answers electronic mail over IMAP, with filters for unwanted messages."),
    ("antiqua", "A family of fonts with serifs for long texts, for Latin, Greek and Cyrillic."),
    ("blocks", "A puzzle game for children in which coloured blocks fall and must be sorted into rows."),
    ("charts", "Draws maps of the coast from free data and shows the position that a GPS receiver gives."),
]
WIDE = {"width": 1180, "height": 1010}
COLOURS = 128
PHONE = {"width": 390, "height": 800}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        make_model(place / "debian-tags")
        with (
            browser.serving(place / "debian-tags", feedback=place / "feedback.sqlite") as (address, _),
            browser.opened() as chromium,
        ):
            take_screenshots(chromium, address, folder, place)
    for image in folder.glob("page-*.png"):
        Image.open(image).convert("RGB").quantize(COLOURS).save(image, optimize=True)


def make_model(folder: Path) -> None:
    splits = builtin.build("debian-tags")
    settings = {"leaf_size": 20, "branching": 6, "calibration": "isotonic"}
    treetop.XRLinear(**settings).fit(splits["train"]).save(folder)
    measure(treetop.load(folder), splits["test"], folder)


def take_screenshots(chromium: Browser, address: str, folder: Path, scratch: Path) -> None:
    for theme in ("light", "dark"):
        page = opened(chromium, address, color_scheme=theme, viewport=WIDE)
        show_suggestions(page)
        page.screenshot(path=folder / f"page-{theme}.png")
    page = opened(chromium, address, viewport=PHONE, has_touch=True, is_mobile=True)
    show_suggestions(page)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=folder / "page-phone.png")
    page = opened(chromium, f"{address}/#/many", viewport=WIDE)
    stock = scratch / "stock.csv"
    with stock.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("name", "description"), *STOCK])
    page.set_input_files("#many-files", stock)
    page.click("#batch-start")
    expect(page.locator("#batch-download")).to_be_visible()
    page.screenshot(path=folder / "page-batch.png")
    page = opened(chromium, f"{address}/#/model", viewport=WIDE)
    expect(page.locator(".chart")).to_have_count(2)
    page.screenshot(path=folder / "page-card.png", full_page=True)


def opened(chromium: Browser, address: str, **options) -> Page:
    page = chromium.new_context(reduced_motion="reduce", **options).new_page()
    page.goto(address)
    page.evaluate("document.fonts.ready")
    return page


def show_suggestions(page: Page) -> None:
    """Shows a text with a few decisions and one explanation."""
    page.fill("#text", TEXT)
    rows = page.locator(".suggestion")
    expect(rows.first.locator(".words")).to_be_attached()
    rows.nth(0).locator(".check").click()
    rows.nth(1).locator(".cross").click()
    window = rows.filter(has=page.get_by_role("button", name="x11::application", exact=True))
    window.locator(".check").click()
    window.locator(".name").click()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
