"""The page when the server is busy, stopped, refuses a text or requires a key."""

from __future__ import annotations

import pytest

import browser

pytest.importorskip("playwright", reason="the tests of the page need playwright")

from playwright.sync_api import expect

from topics_page import downloaded, file, row, rows, write

pytestmark = pytest.mark.browser


def test_requests_to_a_busy_server_are_retried(page):
    requests = []

    def busy_once(route) -> None:
        requests.append(route)
        if len(requests) == 1:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "many are waiting"})
        else:
            route.continue_()

    page.route("**/v1/predict", busy_once)
    page.fill("#text", "the anchor")
    expect(page.locator("#notice")).to_contain_text("The server is busy. Your text is kept")
    expect(rows(page).first.locator(".name")).to_have_text("sailing")
    expect(page.locator("#notice")).to_be_hidden()


def test_explanations_are_retried_only_a_few_times(page):
    requests = []

    def never(route) -> None:
        if route.request.post_data_json.get("explain"):
            requests.append(route)
            route.fulfill(
                status=503, headers={"Retry-After": "0.1"}, json={"error": "no response within 10 s"}
            )
        else:
            route.continue_()

    page.route("**/v1/predict", never)
    page.fill("#text", "the anchor")
    rows(page).first.locator(".name").click()
    expect(rows(page).first.locator(".why")).to_have_text(
        "The explanation could not be loaded. Edit the text to try again."
    )
    page.wait_for_timeout(500)
    assert len(requests) == 3
    page.unroute("**/v1/predict")
    page.fill("#text", "the anchor and the sail")
    expect(rows(page).first.locator(".why")).to_contain_text("Words behind it")


def test_a_batch_resumes_after_the_server_was_busy(open_page):
    page = open_page("many")
    requests = []

    def busy_then_broken(route) -> None:
        requests.append(route)
        if len(requests) == 2:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "many are waiting"})
        elif len(requests) == 4:
            route.fulfill(status=500, json={"error": "internal error; see the server's log"})
        else:
            route.continue_()

    page.route("**/v1/predict", busy_then_broken)
    page.set_input_files("#many-files", file("lines.txt", "honey\n" * 200))
    page.click("#batch-start")
    expect(page.locator("#notice")).to_contain_text("Retrying in 1 second; finished rows are kept.")
    expect(page.locator("#notice")).to_have_text("Internal error; see the server's log.")
    expect(page.locator("#batch-download")).to_have_text("Download 128 rows as CSV")
    page.get_by_role("button", name="Resume").click()
    assert len(downloaded(page)) == 201


def test_feedback_that_cannot_be_stored_can_be_saved_again(page):
    refusal = {"error": "the feedback could not be stored; try again later"}
    page.route("**/v1/feedback", lambda route: route.fulfill(status=503, json=refusal))
    page.fill("#text", "the anchor")
    rows(page).first.locator(".check").click()
    page.click("#save")
    expect(page.locator("#notice")).to_contain_text(
        "The feedback could not be stored; try again later. Your decisions are not saved yet."
    )
    page.unroute("**/v1/feedback")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#save")).to_have_text("Saved")


def test_a_text_that_is_too_long(page):
    page.fill("#text", "word " * 20_001)
    expect(page.locator("#notice")).to_have_text(
        "This text is too long: 100,005 characters (limit 100,000); shorten it, or use its abstract."
    )
    page.fill("#text", "word")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_stopped_server_and_one_that_requires_a_key(open_page, topics, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("the-key-of-this-test\n")
    with browser.serving(topics, "--api-keys", keys, feedback=tmp_path / "kept.sqlite") as (address, process):
        page = open_page(address=address)
        dialog = page.get_by_role("dialog", name="API key required")
        expect(dialog).to_contain_text("Enter the key that you got from the operator of this server.")
        page.get_by_role("textbox", name="Key").fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("This key is not valid.")
        page.get_by_role("textbox", name="Key").fill("the-key-of-this-test")
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        write(page, "the anchor")
        row(page, "sailing").locator(".check").click()
        process.terminate()
        process.wait(timeout=30)
        page.click("#save")
        expect(page.locator("#notice")).to_contain_text(
            "The server does not respond. Your decisions are not saved yet."
        )
        expect(page.locator("#save")).to_be_enabled()
        page.fill("#text", "the mast")
        expect(page.locator("#notice")).to_contain_text("Your text is kept; the page retries automatically.")
        expect(page.locator("#text")).to_have_value("the mast")


def test_a_page_opened_before_its_server(open_page):
    page = open_page()
    page.route("**/v1/models", lambda route: route.abort())
    page.reload()
    expect(page.locator("#notice")).to_contain_text("The page retries automatically.")
    page.fill("#text", "the anchor")
    page.unroute("**/v1/models")
    page.get_by_role("button", name="Retry now").click()
    expect(rows(page).first.locator(".name")).to_have_text("sailing")
