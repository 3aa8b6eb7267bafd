"""The tab for one text: suggestions, explanations, decisions and feedback."""

from __future__ import annotations

import re

import pytest

import browser

pytest.importorskip("playwright", reason="the tests of the page need playwright")

from playwright.sync_api import expect

from topics_page import PERCENT, TOPICS, row, rows, stored, write
from treetop.serve.served_model import version_of

pytestmark = pytest.mark.browser

FONT = re.compile(r"source-serif-4-(latin(?:-ext)?)-wght")


def test_typing_shows_suggestions_with_scores_and_paths(page):
    expect(page.locator("#suggestions-empty")).to_be_visible()
    page.locator("#text").press_sequentially("a camera on a tripod", delay=5)
    best = rows(page).first
    expect(best.locator(".name")).to_have_text("photography")
    expect(best.locator(".score")).to_have_text(PERCENT)
    expect(best.locator(".place span").first).to_be_visible()
    width = best.locator(".bar").evaluate("bar => Number(bar.style.getPropertyValue('--share'))")
    shown = float(best.locator(".score").inner_text().rstrip("%")) / 100
    assert width == pytest.approx(shown, abs=0.006)
    expect(page.locator("#suggestions-empty")).to_be_hidden()
    page.fill("#text", "")
    expect(rows(page)).to_have_count(0)


def test_words_are_highlighted_for_the_hovered_or_focused_label(page):
    write(page, "🔭🪐 the comet, a\n  telescope, and bread")
    marks = page.locator("#behind mark")
    expect(marks).to_have_count(0)
    row(page, "astronomy").hover()
    expect(marks.filter(has_text="comet")).to_have_count(1)
    assert set(re.findall(r"\w+", " ".join(marks.all_inner_texts()))) <= {
        "the",
        "comet",
        "telescope",
        "and",
        "bread",
    }
    mark, text = marks.filter(has_text="comet").bounding_box(), page.locator("#text").bounding_box()
    assert text["x"] < mark["x"] and mark["y"] < text["y"] + text["height"]
    page.locator("h1").hover()
    expect(marks).to_have_count(0)
    row(page, "astronomy").locator(".name").focus()
    expect(marks.filter(has_text="telescope")).to_have_count(1)
    page.locator("#text").press_sequentially("!")
    expect(marks).to_have_count(0)


def test_every_occurrence_of_a_word_is_highlighted(page):
    write(page, "Comet, " + "comet " * 8 + "in a telescope")
    row(page, "astronomy").hover()
    expect(page.locator("#behind mark").filter(has_text=re.compile("^comet$", re.IGNORECASE))).to_have_count(
        9
    )


def test_highlights_scroll_the_text_but_never_the_page(open_page):
    page = open_page(viewport={"width": 390, "height": 700})
    write(page, "\n".join(["bread"] * 60) + "\na comet")
    place = row(page, "astronomy").locator(".name")
    place.scroll_into_view_if_needed()
    page.locator("#paper").evaluate("paper => paper.scrollTop = 0")
    before = page.evaluate("scrollY")
    place.focus()
    expect(page.locator("#behind mark", has_text="comet")).to_have_count(1)
    assert page.locator("#paper").evaluate("paper => paper.scrollTop") > 500
    assert page.evaluate("scrollY") == before


def test_explanations_show_words_and_the_tree_path(page):
    write(page, "roses need soil and compost")
    name = row(page, "gardening").locator(".name")
    name.click()
    why = row(page, "gardening").locator(".why")
    expect(why).to_be_visible()
    expect(name).to_have_attribute("aria-expanded", "true")
    assert {"roses", "soil", "compost"} <= set(why.locator(".words li").all_inner_texts())
    branch = why.locator(".branch li")
    expect(branch.last).to_have_text("gardening")
    assert branch.count() >= 2 and "labels" in branch.first.inner_text()


def test_tree_paths_stay_while_typing(page):
    write(page, "roses need soil")
    expect(row(page, "gardening").locator(".place")).to_be_visible()
    page.route(
        "**/v1/predict",
        lambda route: route.abort() if "explain" in route.request.post_data else route.continue_(),
    )
    with page.expect_response("**/v1/predict"):
        page.locator("#text").press_sequentially(" now")
    expect(row(page, "gardening").locator(".place")).to_be_visible()


def test_a_model_that_cannot_explain(open_page):
    page = open_page()
    page.route("**/v1/models", lambda route: route.fulfill(json=without_explanations(route.fetch().json())))
    page.reload()
    page.fill("#text", "roses need soil")
    row(page, "gardening").locator(".name").click()
    expect(row(page, "gardening").locator(".why")).to_have_text("This model cannot explain its suggestions.")


def without_explanations(answer: dict) -> dict:
    return answer | {"models": [model | {"explains": False} for model in answer["models"]]}


def test_more_suggestions_and_a_new_text(page):
    write(page, "flour and butter")
    expect(rows(page)).to_have_count(10)
    page.click("#more")
    expect(rows(page)).to_have_count(len(TOPICS))
    expect(page.locator("#more")).to_be_hidden()
    expect(rows(page).nth(10).locator(".name")).to_be_focused()
    row(page, "cooking").locator(".check").click()
    page.click("#clear")
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator("#text")).to_have_value("")
    expect(page.locator("#chosen li")).to_have_count(0)


def test_decisions_reach_the_feedback_store(page, topics):
    before = len(stored(topics))
    write(page, "a saxophone and a camera")
    row(page, "music::jazz").locator(".check").click()
    row(page, "chess").locator(".cross").click()
    row(page, "weaving").locator(".cross").click()
    row(page, "weaving").locator(".cross").click()  # undone
    page.fill("#add", "a label of mine")
    page.locator("#add-options [role=option]", has_text="as a new label").click()
    expect(page.locator("#chosen li")).to_have_text(["music::jazz", "a label of mine"])
    shown = page.locator(".suggestion .name").all_inner_texts()
    page.click("#save")
    expect(page.locator("#save")).to_have_text("Saved")
    expect(page.locator("#status")).to_have_text("Saved. Thank you.")
    (line,) = stored(topics)[before:]
    assert line["text"] == "a saxophone and a camera"
    assert line["model"] == "topics" and line["version"] == version_of(topics)
    assert line["suggested"] == shown
    assert line["accepted"] == ["music::jazz"]
    assert line["rejected"] == ["chess"]
    assert line["added"] == ["a label of mine"]
    page.locator("#chosen button").first.click()  # another decision can be saved again
    expect(page.locator("#save")).to_have_text("Save")
    expect(page.locator("#save")).to_be_enabled()


def test_labels_can_be_copied(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    write(page, "honey in a hive")
    row(page, "beekeeping").locator(".check").click()
    row(page, "chess").locator(".check").click()
    page.click("#copy")
    expect(page.locator("#status")).to_contain_text("2 labels copied")
    assert page.evaluate("navigator.clipboard.readText()") == "beekeeping\nchess"


def test_labels_are_copied_without_the_clipboard_api(open_page):
    page = open_page()
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.reload()
    write(page, "honey in a hive")
    row(page, "beekeeping").locator(".check").click()
    page.click("#copy")
    expect(page.locator("#status")).to_contain_text("1 label copied")
    page.locator("#add").focus()
    page.keyboard.press("Control+V")
    expect(page.locator("#add")).to_have_value("beekeeping")


def test_another_model_clears_the_decisions(open_page, topics, tmp_path):
    with browser.serving(topics, f"other={topics}", feedback=tmp_path / "stored.sqlite") as (address, _):
        page = open_page(address=address)
        write(page, "the anchor")
        row(page, "sailing").locator(".check").click()
        with page.expect_response(lambda answer: '"other"' in (answer.request.post_data or "")):
            page.get_by_role("combobox", name="Model", exact=True).select_option("other")
        expect(page.locator("#chosen li")).to_have_count(0)
        row(page, "sailing").locator(".check").click()
        page.click("#save")
        expect(page.locator("#save")).to_have_text("Saved")
        page.click("#tab-model")
        expect(page.get_by_role("heading", name="other")).to_be_visible()


def test_the_page_loads_no_external_resources(page, page_address):
    responses = []

    def on_response(response):
        responses.append(response)

    page.on("response", on_response)
    page.reload()
    write(page, "Žluťoučký kůň pod hvězdami, a comet")
    assert {response.status for response in responses} <= {200, 304}  # 304: cached by the browser
    assert all(response.url.startswith(page_address) for response in responses)
    assert {"latin", "latin-ext"} <= {
        found[1] for response in responses if (found := FONT.search(response.url))
    }
    styles = next(response for response in responses if response.url.endswith("style.css"))
    assert styles.headers["cache-control"] == "no-cache"


def test_type_ahead_finds_any_label(page):
    page.locator("#add").press_sequentially("MUS")
    options = page.locator("#add-options [role=option]")
    expect(options).to_have_text(
        [re.compile("music::jazz"), re.compile("music::opera"), re.compile("new label")]
    )
    expect(page.locator("#add")).to_have_attribute("aria-expanded", "true")
    expect(options.nth(0)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#add")).to_have_attribute("aria-activedescendant", "add-option-1")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")  # wraps around to the last
    expect(options.nth(2)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(options.first).to_be_hidden()
    expect(page.locator("#add")).to_have_value("MUS")
    page.keyboard.press("ArrowDown")
    expect(options.first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#chosen li")).to_have_text(["music::jazz"])
    page.locator("#add").press_sequentially("zzz")
    expect(options).to_have_text([re.compile("no label matches")])
    page.keyboard.press("Enter")  # a new label is never preselected
    expect(page.locator("#chosen li")).to_have_count(1)


def test_everything_works_from_the_keyboard(page, topics):
    before = len(stored(topics))
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("basalt and quartz in the strata")
    expect(row(page, "geology").locator(".words")).to_be_attached()
    page.keyboard.press("Tab")
    expect(rows(page).first.locator(".name")).to_be_focused()
    expect(rows(page).first.locator(".name")).to_have_text("geology")
    page.keyboard.press("a")
    expect(row(page, "geology").locator(".check")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(row(page, "geology").locator(".why")).to_be_visible()
    page.keyboard.press("ArrowDown")
    second = rows(page).nth(1).locator(".name").inner_text()
    page.keyboard.press("r")
    page.keyboard.press("End")
    expect(rows(page).nth(9).locator(".name")).to_be_focused()
    for _ in range(5):  # accept, reject, "show more", the chosen label, the field for another one
        page.keyboard.press("Tab")
    expect(page.locator("#add")).to_be_focused()
    page.keyboard.type("chess")
    expect(page.locator("#add-options [role=option]").first).to_contain_text("chess")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#save")).to_have_text("Saved")
    (line,) = stored(topics)[before:]
    assert line["accepted"] + line["added"] == ["geology", "chess"]
    assert line["rejected"] == [second]


def test_tabs_follow_the_arrow_keys_and_the_url(page):
    page.locator("#tab-suggest").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#many")).to_be_visible()
    expect(page.locator("#tab-many")).to_be_focused()
    assert page.url.endswith("#/many")
    page.keyboard.press("End")
    expect(page.locator("#model")).to_be_visible()
    page.evaluate("location.hash = '#/suggest'")
    expect(page.locator("#text")).to_be_visible()
