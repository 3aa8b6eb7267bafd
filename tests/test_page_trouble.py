"""The page when the server is busy, gone, refuses a text or asks for a key."""

from __future__ import annotations

import pytest

import browser

pytest.importorskip("playwright", reason="the tests of the page need playwright")

from playwright.sync_api import expect

from topics_page import downloaded, file, row, rows, write


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


def test_reasons_that_do_not_come_are_not_asked_for_for_ever(page):
    asked = []

    def never(route) -> None:
        if route.request.post_data_json.get("explain"):
            asked.append(route)
            route.fulfill(status=503, headers={"Retry-After": "0.1"}, json={"error": "no answer within 10 s"})
        else:
            route.continue_()

    page.route("**/v1/predict", never)
    page.fill("#text", "the anchor")
    rows(page).first.locator(".name").click()
    expect(rows(page).first.locator(".why")).to_have_text("The words behind it could not be found just now.")
    page.wait_for_timeout(500)
    assert len(asked) == 3
    page.unroute("**/v1/predict")
    page.fill("#text", "the anchor and the sail")
    expect(rows(page).first.locator(".why")).to_contain_text("Words behind it")


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


def test_feedback_that_cannot_be_kept_is_told_and_saved_again(page):
    refusal = {"error": "the feedback could not be kept: try again later"}
    page.route("**/v1/feedback", lambda route: route.fulfill(status=503, json=refusal))
    page.fill("#text", "the anchor")
    rows(page).first.locator(".check").click()
    page.click("#save")
    expect(page.locator("#notice")).to_contain_text(
        "The feedback could not be kept: try again later. Your decisions are not saved yet."
    )
    page.unroute("**/v1/feedback")
    page.get_by_role("button", name="Save again").click()
    expect(page.locator("#save")).to_have_text("Saved")


def test_a_text_that_is_too_long(page):
    page.fill("#text", "word " * 20_001)
    expect(page.locator("#notice")).to_have_text("Text: 100,005 characters are too many, at most 100,000.")
    page.fill("#text", "word")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_server_that_is_gone_and_one_that_asks_for_a_key(open_page, topics, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("the-key-of-this-test\n")
    with browser.serving(topics, "--api-keys", keys, feedback=tmp_path / "kept.sqlite") as (address, process):
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


def test_a_page_that_opens_before_its_server(open_page):
    page = open_page()
    page.route("**/v1/models", lambda route: route.abort())
    page.reload()
    expect(page.locator("#notice")).to_contain_text("The page tries again by itself.")
    page.fill("#text", "the anchor")
    page.unroute("**/v1/models")
    page.get_by_role("button", name="Try now").click()
    expect(rows(page).first.locator(".name")).to_have_text("sailing")
