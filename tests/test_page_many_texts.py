"""The tab for many texts: files in, a table with labels out."""

from __future__ import annotations

import csv
import io
import json
import random

import pytest

pytest.importorskip("playwright", reason="the tests of the page need playwright")

from playwright.sync_api import expect

from topics_page import TOPICS, downloaded, drop, file, rows

pytestmark = pytest.mark.browser


def test_a_text_file_is_dropped(page):
    drop(page, "letter.txt", "A swarm left the hive.")
    expect(page.locator("#text")).to_have_value("A swarm left the hive.")
    expect(rows(page).first.locator(".name")).to_have_text("beekeeping")
    page.set_input_files("#file", file("old.txt", "x\0y"))
    expect(page.locator("#notice")).to_have_text("old.txt is not a text file. Save it as plain text or CSV.")


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


def test_a_stopped_run_can_be_resumed(open_page):
    page = open_page("many")
    page.set_input_files("#many-files", file("lines.txt", "honey\n" * 300))
    held = []
    page.route("**/v1/predict", lambda route: route.continue_() if len(held) != 2 else None)
    page.on("request", lambda request: held.append(request) if "predict" in request.url else None)
    page.click("#batch-start")
    expect(page.locator("#batch-progress")).to_contain_text("64 of 300 texts done")
    page.get_by_role("button", name="Stop").click()
    assert len(downloaded(page)) == 65
    page.unroute("**/v1/predict")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#batch-progress")).to_contain_text("300 of 300")
    assert [line[1].split(";")[0] for line in downloaded(page)[1:]] == ["beekeeping"] * 300


def test_files_of_other_encodings(open_page):
    page = open_page("many")
    for name, encoding in [("table.tsv", "utf-16"), ("table.csv", "cp1252"), ("table.csv", "utf-8-sig")]:
        separator = "\t" if name.endswith("tsv") else ";"
        content = f"Nummer{separator}Beschreibung\r\n1{separator}Über den anchor und die Mäste\r\n".encode(
            encoding
        )
        page.set_input_files("#many-files", {"name": name, "mimeType": "text/plain", "buffer": content})
        page.click("#batch-start")
        header, line = downloaded(page)
        assert header[:2] == ["Nummer", "Beschreibung"]
        assert line[:2] == ["1", "Über den anchor und die Mäste"] and line[2].startswith("sailing;")


def test_errors_name_the_line(open_page):
    page = open_page("many")
    for name, content, words in [
        ("a.jsonl", '{"text": "x"}\n{nonsense}', "a.jsonl, line 2: invalid JSON. Write one record per line."),
        (
            "b.csv",
            "text,year\nx,1\ny",
            "b.csv, record 3: 1 cell, but the first row has 2. Quote cells that contain the separator.",
        ),
        ("c.csv", 'text\n"open', "c.csv, record 2: unclosed quotation mark. Close or double it."),
        ("d.txt", " \n", "d.txt is empty. Choose a file with texts."),
    ]:
        page.set_input_files("#many-files", file(name, content))
        expect(page.locator("#notice")).to_have_text(words)


def test_a_text_that_the_server_refuses_does_not_stop_the_others(open_page):
    page = open_page("many")
    lines = ["honey", "x" * 100_001, "wind", "flour"]
    page.set_input_files("#many-files", file("lines.txt", "\n".join(lines)))
    page.click("#batch-start")
    expect(page.locator("#batch-progress")).to_contain_text(
        "1 text got no labels, first row 2: This text is too long"
    )
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


def test_no_cell_is_a_formula_for_a_spreadsheet(open_page):
    page = open_page("many")
    rows = [
        ["=1+1", "bishop"],
        ["@SUM(A1)", "+1 pawn"],
        ["-2.5e3", "-pawn"],
        ["+49", "\t=pawn"],
        ["a=b", "＝pawn"],
    ]
    content = io.StringIO(newline="")
    csv.writer(content).writerows([["=HYPERLINK(1)", "text"], *rows])
    page.set_input_files("#many-files", file("table.csv", content.getvalue()))
    page.click("#batch-start")
    header, *lines = downloaded(page)
    assert header[0] == "'=HYPERLINK(1)"
    assert [line[:2] for line in lines] == [
        ["'=1+1", "bishop"],
        ["'@SUM(A1)", "'+1 pawn"],
        ["-2.5e3", "'-pawn"],
        ["+49", "'\t=pawn"],
        ["a=b", "'＝pawn"],
    ]
    answer = {"model": "m", "version": "v", "results": [{"labels": [{"label": "=cmd()", "score": -1.5}]}] * 5}
    page.route("**/v1/predict", lambda route: route.fulfill(json=answer))
    page.set_input_files("#many-files", file("table.csv", content.getvalue()))
    page.click("#batch-start")
    _, *lines = downloaded(page)
    assert [line[2:] for line in lines] == [['["=cmd()"]', "-1.5"]] * 5
