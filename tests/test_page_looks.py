"""The page's appearance: model card, light and dark, all widths, assistive technology, markup."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("playwright", reason="the tests of the page need playwright")

from playwright.sync_api import Page, expect

from topics_page import EVIL, PERCENT, drop, rows, write

pytestmark = pytest.mark.browser


def test_the_card_describes_the_model(open_page):
    page = open_page("model")
    card = page.locator("#card")
    expect(card.locator(".facts dd")).to_have_text(["144", "12", "1.0", PERCENT, PERCENT, PERCENT])
    expect(page.get_by_role("img", name="Training texts per label")).to_be_visible()
    expect(page.get_by_role("img", name="Accuracy of suggestions by score")).to_be_visible()
    expect(card).to_contain_text("of the top suggestions are correct")
    expect(card.locator(".bars tbody tr")).to_have_count(1)  # every label has 12 texts
    expect(card.locator(".bars tbody tr")).to_contain_text("6 to 50 texts")
    page.get_by_text("Technical details").click()
    expect(card.get_by_role("row", name="tree.leaf_size 3")).to_be_visible()


def test_a_model_without_measurements(open_page):
    page = open_page()
    page.route(
        "**/card", lambda route: route.fulfill(json=json.loads(route.fetch().text()) | {"evaluation": None})
    )
    page.click("#tab-model")
    expect(page.locator("#card")).to_contain_text("Not measured yet")


def colour(page: Page) -> int:
    """The brightness of the background."""
    found = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", found)[:3]))


def test_light_and_dark(open_page):
    page = open_page(color_scheme="light")
    assert colour(page) > 600
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert colour(page) < 200
    page.get_by_role("button", name="Use light colours").click()
    assert colour(page) > 600
    page.reload()  # the choice is kept
    expect(page.get_by_role("button", name="Use dark colours")).to_be_visible()
    assert colour(page) > 600


@pytest.mark.parametrize("width", [320, 390, 820])
def test_no_width_scrolls_sideways(open_page, width):
    page = open_page(viewport={"width": width, "height": 700})
    fits = "document.documentElement.scrollWidth <= innerWidth"
    write(page, "a" * 300 + " camera lens")
    rows(page).first.locator(".name").click()
    page.locator("#add").press_sequentially("e")
    expect(page.locator("#add-options")).to_be_visible()
    assert page.evaluate(fits)
    drop(page, "t.csv", "text,a long name,another long name\n" + "camera " * 80 + ",b" + "b" * 90 + ",c\n")
    page.click("#batch-start")
    expect(page.locator("#batch-download")).to_be_visible()
    assert page.evaluate(fits)
    page.click("#tab-model")
    expect(page.locator(".chart").first).to_be_visible()
    assert page.evaluate(fits)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_accessibility_violations(open_page, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def check() -> None:
        found = axe.run(page).response["violations"]
        assert not found, [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]

    page = open_page(color_scheme=theme, reduced_motion="reduce")
    check()
    write(page, "a camera lens and the anchor")
    rows(page).first.locator(".name").click()
    rows(page).nth(1).locator(".check").click()
    rows(page).nth(2).locator(".cross").click()
    rows(page).first.locator(".name").focus()
    check()
    page.locator("#add").press_sequentially("mus")
    expect(page.locator("#add-options [role=option]").first).to_be_visible()
    check()
    drop(page, "t.csv", "text,year\ncamera,1\nanchor,2\n")
    expect(page.locator("#batch-start")).to_be_visible()
    check()
    page.click("#batch-start")
    expect(page.locator("#batch-download")).to_be_visible()
    check()
    page.click("#tab-model")
    expect(page.locator(".chart").first).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()
    check()


def test_markup_in_labels_and_texts_is_shown_as_text(open_page):
    page = open_page()
    write(page, f"{EVIL} a script with an alert and a cookie <b>injection</b>")
    expect(rows(page).first.locator(".name")).to_have_text(EVIL)
    rows(page).first.locator(".name").click()
    rows(page).first.locator(".check").click()
    expect(page.locator("#chosen li")).to_have_text([EVIL])
    page.fill("#add", "<img")
    expect(page.locator("#add-options [role=option]").first).to_contain_text(EVIL)
    page.keyboard.press("Escape")
    drop(page, f"{EVIL}.csv", f"text,<b>name</b>\n{EVIL} script,<i>x</i>\n")
    page.click("#batch-start")
    expect(page.locator("#batch td").first).to_contain_text(EVIL)
    assert page.locator("main img, main b:not(.combo b), main i, main script").count() == 0
