"""HTML reports in a browser: charts are drawn and interactive, trees open, nothing is fetched or fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

import pytest

import treetop
from test_report import EVIL
from treetop import Dataset
from treetop.cli.main import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
both_schemes = pytest.mark.parametrize("scheme", ["light", "dark"])
WIDE = {"width": 1100, "height": 800}
WORDS = (
    *("amber", "basil", "cedar", "daisy", "elder", "fern", "grass", "holly"),
    *("iris", "juniper", "kelp", "lilac", "maple", "nettle", "olive", "poppy"),
)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """Two models of 272 labels, of which one would like to run; every fourth test text is mislabelled."""
    home = tmp_path_factory.mktemp("browser")
    labels = [f"{a} {b}" for a in WORDS for b in [*WORDS, EVIL]]
    texts = [f"about {label} and {WORDS[row % 16]}" for row, label in enumerate(labels * 3)]
    train = Dataset.from_texts(texts, [[label] for label in labels * 3])
    for name, settings in (("deep", {"leaf_size": 150, "branching": 2}), ("flat", {})):
        treetop.XRLinear(threads=2, **settings).fit(train).save(home / name)
    wrong = [labels[(row + (row % 4 == 0)) % len(labels)] for row in range(len(labels))]
    test = Dataset.from_texts(texts[: len(labels)], [[label] for label in wrong])
    treetop.data.write(test, home / "test.jsonl")
    page = home / "report.html"
    models = [str(home / name) for name in ("deep", "flat")]
    with pytest.raises(SystemExit) as caught:
        main(["-q", "report", *models, str(home / "test.jsonl"), "-o", str(page), "--samples", "200"])
    assert not caught.value.code
    return page


@pytest.fixture
def scheme() -> str:
    return "light"


class Tab(NamedTuple):
    """An open page, what it said on its console, and what it requested."""

    page: Page
    said: list[str]
    requested: list[str]


@pytest.fixture(scope="module")
def tab(chromium, report):
    """``tab("dark")``: the page, opened once in each colour scheme."""
    tabs: dict[str, Tab] = {}

    def open_in(scheme: str) -> Tab:
        if scheme not in tabs:
            tabs[scheme] = opened(chromium, report, scheme)
        return tabs[scheme]

    yield open_in
    for one in tabs.values():
        one.page.context.close()


def opened(chromium: Browser, report: Path, scheme: str) -> Tab:
    page = chromium.new_context(color_scheme=scheme, viewport=WIDE).new_page()
    tab = Tab(page, [], [])
    page.on("console", lambda message: tab.said.append(message.text))
    page.on("pageerror", lambda error: tab.said.append(str(error)))
    page.on("dialog", lambda dialog: (tab.said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda wanted: tab.requested.append(wanted.url))
    page.goto(report.as_uri())
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every("
        "chart => chart.closest('details:not([open])') || chart.dataset.drawn === 'done')"
    )
    return tab


@pytest.fixture
def page(scheme, tab, report):
    """The open page. After each test its console is empty, and nothing but the file was requested."""
    shared = tab(scheme)
    yield shared.page
    shared.page.set_viewport_size(WIDE)
    said = list(shared.said)
    shared.said.clear()
    assert said == []
    fetched = [url for url in shared.requested if not url.startswith(("data:", "blob:"))]
    assert fetched == [report.as_uri()]


@both_schemes
def test_charts_are_drawn_also_when_they_are_expanded(page):
    charts = page.locator(".chart")
    drawn = [charts.nth(at).locator("svg").count() for at in range(charts.count())]
    assert charts.count() == 7 and drawn == [1, 1, 1, 1, 1, 1, 0]
    for at in range(6):
        assert charts.nth(at).locator("svg path, svg line").count() > 3
        assert charts.nth(at).locator("svg").bounding_box()["width"] > 400
    second = page.locator("#confusions details.part").nth(1)
    second.locator("summary").first.click()
    page.wait_for_selector("#chart-confusions-2 svg")


def test_charts_have_tooltips_and_zoom_and_are_saved(page):
    chart = page.locator("#chart-calibration")
    chart.locator("path[aria-roledescription=point]").last.hover()
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert "predictions" in tip.inner_text()
    ticks = chart.locator(".role-axis-label").first
    before = ticks.inner_html()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function(
        "before => document.querySelector('#chart-calibration .role-axis-label').innerHTML !== before",
        arg=before,
    )
    for kind in ("svg", "png"):
        with page.expect_download() as saved:
            chart.get_by_text(f"Save {kind.upper()}").click()
        assert saved.value.suggested_filename == f"calibration.{kind}"
        content = Path(saved.value.path()).read_bytes()
        if kind == "svg":
            assert ElementTree.fromstring(content).tag.endswith("svg")
        else:
            assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_a_label_in_a_tooltip_is_only_text(page):
    chart = page.locator("#chart-confusions-1")
    chart.locator("text[aria-label*='alert']").first.hover()
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert EVIL in tip.inner_text() and tip.locator("script").count() == 0


def test_a_tree_opens_and_finds_labels(page):
    tree = page.locator("#tree-1")
    assert tree.locator(":scope > ul > li > details").count() == 2
    assert tree.locator(".leaf").count() == 0
    tree.locator("summary").first.click()
    tree.locator(".leaf").first.wait_for()
    assert tree.locator(".leaf").count() == 100  # of 136; the others wait
    tree.get_by_text("36 more").click()
    assert tree.locator(".leaf").count() == 136
    tree.locator("input").fill("poppy poppy")
    tree.get_by_role("button", name="Find").click()
    found = tree.locator(".leaf.found")
    found.wait_for()
    assert found.locator(".name").inner_text() == "poppy poppy"
    tree.locator("input").fill("script")
    tree.get_by_role("button", name="Find").click()
    assert tree.locator(".matches li").count() == 16
    assert EVIL in tree.locator(".matches li").first.inner_text()


def test_tables_sort(page):
    table = page.locator("#confusions table").first
    head = table.locator("thead button").nth(0)
    cells = table.locator("tbody tr > :first-child")
    head.click()
    names = cells.all_inner_texts()
    head.click()
    assert cells.all_inner_texts() == names[::-1] or len(set(names)) < len(names)
    assert table.locator("th[aria-sort=ascending]").count() == 1
    texts = table.locator("thead button").nth(2)
    texts.click()
    values = [int(text) for text in table.locator("tbody tr > :nth-child(3)").all_inner_texts()]
    assert values == sorted(values, reverse=True)


@both_schemes
def test_light_and_dark(page):
    def ground() -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    before = ground()
    page.locator("#theme").click()
    assert ground() != before
    page.locator("#theme").click()
    assert ground() == before


def test_a_phone_scrolls_in_one_direction(page):
    page.set_viewport_size({"width": 360, "height": 700})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#chart-quality svg").bounding_box()["width"] <= 360


@both_schemes
def test_text_has_contrast(page):
    """At least 4.5 to 1 of everything that is read against the page (WCAG AA)."""
    ratios = page.evaluate("""() => {
        const light = (colour) => {
            const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => {
                const share = part / 255;
                return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        };
        const ground = light(getComputedStyle(document.body).backgroundColor);
        const wanted = "p, a, .quiet, th, td, summary, button, dt, dd, li, .sign";
        return [...document.querySelectorAll(wanted)].map((element) => {
            const ink = light(getComputedStyle(element).color);
            return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
        });
    }""")
    assert len(ratios) > 100 and min(ratios) >= 4.5
