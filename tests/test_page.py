"""The page in a real browser, before a real server: suggestions, decisions, files, the model card, trouble."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import re
import sqlite3

import pytest

import browser
import treetop
from treetop.data import Dataset

pytest.importorskip("playwright", reason="the tests of the page need playwright")
pytest.importorskip("fastapi", reason="the tests of the page need the extra serve")
if browser.executable() is None:
    pytest.skip("no Chromium is installed: make browser", allow_module_level=True)

from playwright.sync_api import Browser, Page, expect

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


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A label tree over a dozen topics, with scores that are probabilities and figures for its card."""
    from treetop.serve.card import measure

    drawn = random.Random(0)
    texts, labels = [], []
    for topic, words in TOPICS.items():
        for _ in range(12):
            other = drawn.choice(list(TOPICS))
            chosen = drawn.sample(words.split(), 3) + drawn.sample(TOPICS[other].split(), 1)
            texts.append(f"about the {' and the '.join(chosen)}")
            labels.append([topic])
    data = Dataset.from_texts(texts, labels)
    folder = tmp_path_factory.mktemp("page") / "topics"
    fitted = treetop.XRLinear(leaf_size=3, branching=3, calibration="platt", calibration_share=0.3, threads=1)
    fitted.fit(data).save(folder)
    measure(treetop.load(folder), data, folder)
    return folder


@pytest.fixture(scope="module")
def server(model):
    with browser.serving(model, feedback=model.parent / "feedback.sqlite") as (address, _):
        yield address


@pytest.fixture(scope="module")
def chromium():
    with browser.opened() as opened:
        yield opened


@pytest.fixture
def open_page(chromium: Browser, server):
    """``open_page(tab, **how)``: a fresh page; scripts that fail or are forbidden fail the test."""
    troubles: list[str] = []
    contexts = contextlib.ExitStack()

    def on_console(message) -> None:
        if "Content Security Policy" in message.text:
            troubles.append(message.text)

    def open_at(tab: str = "suggest", address: str = server, **how) -> Page:
        context = contexts.enter_context(chromium.new_context(**how))
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.on("console", on_console)
        page.goto(f"{address}/#/{tab}")
        return page

    with contexts:
        yield open_at
    assert not troubles


@pytest.fixture
def page(open_page) -> Page:
    return open_page()


def rows(page: Page):
    return page.locator(".suggestion")


def write(page: Page, text: str) -> None:
    """Writes a text and waits for the words behind the suggestions."""
    with page.expect_response(lambda answer: "explain" in (answer.request.post_data or "")):
        page.fill("#text", text)
    expect(rows(page).first.locator(".words")).to_be_attached()


def row(page: Page, label: str):
    return rows(page).filter(has=page.locator(".name", has_text=label)).first


def kept(model) -> list[dict]:
    """What the feedback store holds."""
    with contextlib.closing(sqlite3.connect(model.parent / "feedback.sqlite")) as store:
        store.row_factory = sqlite3.Row
        found = [dict(line) for line in store.execute("SELECT * FROM feedback ORDER BY id")]
    lists = ("suggested", "accepted", "rejected", "added")
    return [line | {name: json.loads(line[name]) for name in lists} for line in found]


# -- one text ------------------------------------------------------------------------------------------------


def test_typing_gives_suggestions_with_scores_and_places(page):
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


def test_words_are_marked_while_a_label_is_pointed_at_or_focused(page):
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


def test_why_shows_words_and_the_branches_of_the_tree(page):
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


def test_decisions_reach_the_feedback_store(page, model):
    before = len(kept(model))
    write(page, "a saxophone and a camera")
    row(page, "music::jazz").locator(".check").click()
    row(page, "chess").locator(".cross").click()
    row(page, "weaving").locator(".cross").click()
    row(page, "weaving").locator(".cross").click()  # taken back
    page.fill("#add", "a label of mine")
    page.locator("#add-options [role=option]", has_text="as a new label").click()
    expect(page.locator("#chosen li")).to_have_text(["music::jazz", "a label of mine"])
    shown = page.locator(".suggestion .name").all_inner_texts()
    page.click("#save")
    expect(page.locator("#save")).to_have_text("Saved")
    expect(page.locator("#status")).to_have_text("Saved. Thank you.")
    (line,) = kept(model)[before:]
    assert line["text"] == "a saxophone and a camera"
    assert line["model"] == "topics"
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
    page.keyboard.press("ArrowUp")  # round to the last
    expect(options.nth(2)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(options.first).to_be_hidden()
    expect(page.locator("#add")).to_have_value("MUS")
    page.keyboard.press("ArrowDown")
    expect(options.first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#chosen li")).to_have_text(["music::jazz"])
    page.locator("#add").press_sequentially("zzz")
    expect(options).to_have_text([re.compile("no label has this")])
    page.keyboard.press("Enter")  # a new label is taken only on purpose
    expect(page.locator("#chosen li")).to_have_count(1)


def test_everything_works_from_the_keyboard(page, model):
    before = len(kept(model))
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
    for _ in range(
        5
    ):  # accept and reject of this row, "show more", the chosen label, a field for another one
        page.keyboard.press("Tab")
    expect(page.locator("#add")).to_be_focused()
    page.keyboard.type("chess")
    expect(page.locator("#add-options [role=option]").first).to_contain_text("chess")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#save")).to_have_text("Saved")
    (line,) = kept(model)[before:]
    assert line["accepted"] + line["added"] == ["geology", "chess"]
    assert line["rejected"] == [second]


def test_tabs_follow_the_arrows_and_the_address(page):
    page.locator("#tab-suggest").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#many")).to_be_visible()
    expect(page.locator("#tab-many")).to_be_focused()
    assert page.url.endswith("#/many")
    page.keyboard.press("End")
    expect(page.locator("#model")).to_be_visible()
    page.evaluate("location.hash = '#/suggest'")
    expect(page.locator("#text")).to_be_visible()


# -- files ---------------------------------------------------------------------------------------------------


def file(name: str, content: str) -> dict:
    return {"name": name, "mimeType": "text/plain", "buffer": content.encode()}


def drop(page: Page, name: str, content: str) -> None:
    script = """([name, content]) => {
        const carried = new DataTransfer();
        carried.items.add(new File([content], name));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: carried, bubbles: true, cancelable: true}));
    }"""
    page.evaluate(script, [name, content])


def downloaded(page: Page) -> list[list[str]]:
    with page.expect_download() as caught:
        page.click("#batch-download")
    content = caught.value.path().read_text("utf-8-sig")
    return list(csv.reader(io.StringIO(content, newline=""), strict=True))


def test_a_text_file_is_dropped(page):
    drop(page, "letter.txt", "A swarm left the hive.")
    expect(page.locator("#text")).to_have_value("A swarm left the hive.")
    expect(rows(page).first.locator(".name")).to_have_text("beekeeping")
    page.set_input_files("#file", file("old.txt", "x\0y"))
    expect(page.locator("#notice")).to_have_text("old.txt is not a text file.")


def test_a_table_comes_back_with_labels(page):
    texts = [f"{topic} with the {words}" for topic, words in TOPICS.items()] * 12
    content = io.StringIO(newline="")
    csv.writer(content).writerows(
        [["number", "notes"], *([str(at), f'a "quoted",\n{text}'] for at, text in enumerate(texts))]
    )
    drop(page, "stock.csv", content.getvalue())
    expect(page.locator("#many")).to_be_visible()
    expect(page.locator("#batch-column")).to_have_value("1")  # the longest cells
    page.fill("#batch-k", "2")
    page.click("#batch-start")
    expect(page.locator("#batch-progress")).to_contain_text("144 of 144 texts done")
    assert page.locator("progress").evaluate("bar => bar.value / bar.max") == 1
    header, *lines = downloaded(page)
    assert header == ["number", "notes", "suggested_labels", "scores"]
    assert [line[0] for line in lines] == [str(at) for at in range(144)]
    assert lines[0][1] == 'a "quoted",\nastronomy with the telescope planet comet galaxy'
    for line, topic in zip(lines, [*TOPICS] * 12, strict=True):
        labels, scores = line[2].split(";"), [float(score) for score in line[3].split(";")]
        assert labels[0] == topic and len(labels) == len(scores) == 2
        assert 1 >= scores[0] >= scores[1] >= 0


def test_records_come_back_with_labels_above_a_score(open_page):
    page = open_page("many")
    lines = [{"id": 7, "text": "bishop and pawn"}, {"text": "nothing of the kind"}]
    page.set_input_files("#many-files", file("cards.jsonl", "\n".join(map(json.dumps, lines))))
    page.fill("#batch-least", "0.5")
    page.click("#batch-start")
    header, first, second = downloaded(page)
    assert header == ["id", "text", "suggested_labels", "scores"]
    assert first[:3] == ["7", "bishop and pawn", "chess"] and float(first[3]) > 0.5
    assert second[1] == "nothing of the kind" and second[0] == ""


def test_several_texts_and_lines_of_one(open_page):
    page = open_page("many")
    page.set_input_files("#many-files", [file("a.txt", "the mast"), file("b.txt", "the loom")])
    page.click("#batch-start")
    assert [line[:2] + line[2].split(";")[:1] for line in downloaded(page)[1:]] == [
        ["a.txt", "the mast", "sailing"],
        ["b.txt", "the loom", "weaving"],
    ]
    page.set_input_files("#many-files", file("lines.txt", "an aria\n\na trumpet\n"))
    page.click("#batch-start")
    expect(page.locator("#batch-progress")).to_contain_text("2 of 2")


def test_a_bad_file_says_where(open_page):
    page = open_page("many")
    for name, content, words in [
        ("a.jsonl", '{"text": "x"}\n{nonsense}', "a.jsonl, line 2: this is not JSON."),
        ("b.csv", "text,year\nx,1\ny", "b.csv, record 3: 1 cells, but the first row has 2."),
        ("c.csv", 'text\n"open', "c.csv, record 2: a quotation mark is opened and never closed."),
        ("d.txt", " \n", "d.txt is empty."),
    ]:
        page.set_input_files("#many-files", file(name, content))
        expect(page.locator("#notice")).to_have_text(words)


def test_a_text_that_the_server_refuses_does_not_stop_the_others(open_page):
    page = open_page("many")
    lines = ["honey", "x" * 100_001, "wind", "flour"]
    page.set_input_files("#many-files", file("lines.txt", "\n".join(lines)))
    page.click("#batch-start")
    expect(page.locator("#batch-progress")).to_contain_text("1 text got no labels; the first is row 2")
    assert [line[1].split(";")[0] for line in downloaded(page)[1:]] == [
        "beekeeping",
        "",
        "sailing",
        "cooking",
    ]


def test_tables_are_read_and_written_as_python_does(page):
    drawn = random.Random(1)
    signs = ["a", "b ", '"', ",", "\n", "\r\n", ";", "ü", "🪐", " "]
    for delimiter in ",;\t":
        tables = []
        for _ in range(60):
            width = drawn.randint(1, 4)
            cell = lambda: "".join(drawn.choices(signs, k=drawn.randint(0, 5)))  # noqa: E731
            tables.append([[cell() + "." for _ in range(width)] for _ in range(drawn.randint(1, 5))])
        written = []
        for table in tables:
            content = io.StringIO(newline="")
            csv.writer(content, delimiter=delimiter).writerows(table)
            written.append(content.getvalue())
        read, back = page.evaluate(
            """async ([contents, delimiter]) => {
                const { parseTable, writeCsv } = await import("/static/js/tables.js");
                const read = contents.map((content) => parseTable("file", content, delimiter));
                return [read, read.map(writeCsv)];
            }""",
            [written, delimiter],
        )
        assert read == tables
        assert [list(csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""))) for text in back] == tables


# -- the model -----------------------------------------------------------------------------------------------


def test_the_card_tells_of_the_model(open_page):
    page = open_page("model")
    card = page.locator("#card")
    expect(card.locator(".facts dd")).to_have_text(["144", "12", "1.0", PERCENT, PERCENT, PERCENT])
    expect(page.get_by_role("img", name="How many texts each label has")).to_be_visible()
    expect(page.get_by_role("img", name="How often suggestions were right")).to_be_visible()
    expect(card).to_contain_text("of the first suggestions are right")
    expect(card.locator(".bars tbody tr")).to_have_count(1)  # every label has 12 texts
    expect(card.locator(".bars tbody tr")).to_contain_text("in 6 to 50 texts")
    page.get_by_text("For the technically minded").click()
    expect(card.get_by_role("row", name="tree.leaf_size 3")).to_be_visible()


def test_a_model_that_nobody_measured(open_page):
    page = open_page()
    page.route(
        "**/card", lambda route: route.fulfill(json=json.loads(route.fetch().text()) | {"evaluation": None})
    )
    page.click("#tab-model")
    expect(page.locator("#card")).to_contain_text("has not been measured yet")


# -- how it looks --------------------------------------------------------------------------------------------


def colour(page: Page) -> int:
    """How bright the background is."""
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
def test_nothing_stands_in_the_way_of_assistive_technology(open_page, theme):
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


# -- trouble -------------------------------------------------------------------------------------------------


def test_a_busy_server_is_waited_for(page):
    asked = []

    def busy_once(route) -> None:
        asked.append(route)
        if len(asked) == 1:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "many are waiting"})
        else:
            route.continue_()

    page.route("**/v1/predict", busy_once)
    page.fill("#text", "the anchor")
    expect(page.locator("#notice")).to_contain_text("The server has much to do just now. Your text is kept")
    expect(rows(page).first.locator(".name")).to_have_text("sailing")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_batch_goes_on_after_the_server_was_busy(open_page):
    page = open_page("many")
    asked = []

    def busy_then_broken(route) -> None:
        asked.append(route)
        if len(asked) == 2:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "many are waiting"})
        elif len(asked) == 4:
            route.fulfill(status=500, json={"error": "the server failed at this request; its log says more"})
        else:
            route.continue_()

    page.route("**/v1/predict", busy_then_broken)
    page.set_input_files("#many-files", file("lines.txt", "honey\n" * 200))
    page.click("#batch-start")
    expect(page.locator("#notice")).to_contain_text("Going on in 1 second; what is done is kept.")
    expect(page.locator("#notice")).to_have_text("The server failed at this request; its log says more.")
    expect(page.locator("#batch-download")).to_have_text("Download 128 rows as CSV")
    page.get_by_role("button", name="Go on").click()
    assert len(downloaded(page)) == 201


def test_a_text_that_is_too_long(page):
    page.fill("#text", "word " * 20_001)
    expect(page.locator("#notice")).to_have_text("Text: 100,005 characters are too many, at most 100,000.")
    page.fill("#text", "word")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_server_that_is_gone_and_one_that_asks_for_a_key(open_page, model, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("the-key-of-this-test\n")
    with browser.serving(model, "--api-keys", keys, feedback=tmp_path / "kept.sqlite") as (address, process):
        page = open_page(address=address)
        dialog = page.get_by_role("dialog", name="This server asks for a key")
        expect(dialog).to_contain_text("An API key is needed.")
        page.get_by_role("textbox", name="Key").fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("The API key is not known.")
        page.get_by_role("textbox", name="Key").fill("the-key-of-this-test")
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        write(page, "the anchor")
        row(page, "sailing").locator(".check").click()
        process.terminate()
        process.wait(timeout=30)
        page.click("#save")
        expect(page.locator("#notice")).to_contain_text(
            "The server does not answer. Your decisions are not saved yet."
        )
        expect(page.locator("#save")).to_be_enabled()
        page.fill("#text", "the mast")
        expect(page.locator("#notice")).to_contain_text("Your text is kept; the page tries again by itself.")
        expect(page.locator("#text")).to_have_value("the mast")


def test_a_page_that_opens_before_its_server(open_page, server):
    page = open_page()
    page.route("**/v1/models", lambda route: route.abort())
    page.reload()
    expect(page.locator("#notice")).to_contain_text("The page tries again by itself.")
    page.fill("#text", "the anchor")
    page.unroute("**/v1/models")
    page.get_by_role("button", name="Try now").click()
    expect(rows(page).first.locator(".name")).to_have_text("sailing")
