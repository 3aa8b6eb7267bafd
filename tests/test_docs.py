"""The documentation keeps its promises: blocks run, links lead somewhere, everything has its entry."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import doc_commands
import doc_provenance
from commands import python
from doc_blocks import PLAIN, ROOT, RUN, Block, blocks, pages, prose
from doc_files import write_files
from doc_hooks import page_with
from doc_server import DocServer
from treetop.data.builtin import docstrings, python_docs
from treetop.methods import METHODS
from treetop.neural.training import Training

LARGEST_SHARE_NOT_RUN = 1 / 4
ALL = [block for page in pages() for block in blocks(page)]
RUNNABLE = [block for block in ALL if block.language in RUN]
NOT_RUN = [block for block in RUNNABLE if block.marker == "not run"]
PACKAGES = frozenset(
    ["asyncio", "email", "http", "json", "logging", "multiprocessing", "threading", "unittest"]
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# -- blocks --------------------------------------------------------------------------------------------------


@pytest.fixture
def little_to_do(monkeypatch):
    """Networks train for two epochs at most, and only some of Python's documentation is read."""
    begin = Training.__init__

    def begin_short(self, *arguments, epochs, **named):
        begin(self, *arguments, epochs=min(epochs, 2), **named)

    monkeypatch.setattr(Training, "__init__", begin_short)
    monkeypatch.setattr(sys, "stdlib_module_names", PACKAGES)
    monkeypatch.setattr(python_docs, "installed", lambda packages: docstrings.installed(()))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in pages() if blocks(page)], ids=name_of)
def test_page_runs(page, tmp_path, monkeypatch, little_to_do):
    """Its blocks from top to bottom, in one folder and one namespace."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, page.read_text("utf-8"))
    for block in blocks(page):
        if block.marker == "file":
            Path(block.reason).write_text(block.text, "utf-8")
    names: dict[str, object] = {"__name__": "a_page"}
    with DocServer() as server:
        for block in blocks(page):
            if block.language in RUN and block.marker != "not run":
                try:
                    run_block(block, names, server)
                except Exception as error:
                    raise AssertionError(f"{block.place}: {type(error).__name__}: {error}") from error


def run_block(block: Block, names: dict[str, object], server: DocServer) -> None:
    if block.language == "python":
        # Empty lines before it, so that a traceback has the page's line numbers.
        text = "\n" * (block.line) + server.addressed(block.text)
        exec(compile(text, str(block.page), "exec"), names)
    elif block.language == "sh":
        for command in doc_commands.commands(block.text):
            doc_commands.run(command, server)
    else:
        for command, expected in doc_commands.console_steps(block.text):
            printed = doc_commands.run(command, server)
            if block.marker != "output differs":
                assert_printed(printed, expected, command)


def assert_printed(printed: str, expected: str, command: str) -> None:
    """The same lines; a line of ``…`` stands for any number of them."""
    wanted = [line.rstrip() for line in expected.strip("\n").splitlines()]
    given = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    pattern = "\n".join(r".*(?:\n.*)*" if line == "…" else re.escape(line) for line in wanted)
    assert re.fullmatch(pattern, given), f"{command} prints\n{given}\nbut the page has\n{expected}"


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.place)
def test_block_that_is_not_run_would_be_understood(block):
    if block.language == "python":
        compile(block.text, block.place, "exec")
    elif block.language == "sh":
        for command in doc_commands.commands(block.text):
            doc_commands.check(command)
    else:
        for command, _ in doc_commands.console_steps(block.text):
            doc_commands.check(command)


def test_every_block_says_what_it_is():
    for block in ALL:
        assert block.language in (*RUN, *PLAIN), (
            f"{block.place}: {block.language or 'nothing'} behind the fence"
        )
        assert block.marker is None or len(block.reason) > 3, (
            f"{block.place}: no reason behind {block.marker!r}"
        )
        assert block.marker in (None, "file") or block.language in RUN, (
            f"{block.place}: nothing to run anyway"
        )


def test_few_blocks_are_not_run():
    share = len(NOT_RUN) / len(RUNNABLE)
    listed = "\n".join(f"{block.place}: {block.reason}" for block in NOT_RUN)
    assert share <= LARGEST_SHARE_NOT_RUN, f"{share:.0%} of the blocks are not run:\n{listed}"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_commands_in_running_text_exist(page):
    for span in doc_provenance.spans_of_today(prose(page)):
        words = span.split()
        if words[:1] == ["treetop"]:
            doc_commands.check_span(span)
        elif words[:1] == ["make"] and len(words) > 1:
            doc_commands.check_make(words[1:2])
        elif words[:1] == ["python"] and len(words) > 1 and words[1].startswith("bench/"):
            doc_commands.check_script(words[1:])
        elif re.fullmatch(r"bench/[\w/]+\.py.*", span):
            doc_commands.check_script(words)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_numbers_name_a_command_that_their_commit_has(page):
    claims = list(doc_provenance.claims(prose(page)))
    for claim in claims:
        assert claim.refers or claim.commands or doc_provenance.NOT_KEPT in claim.text, (
            f"{name_of(page)}: {claim.text}: name the full command, or say that it was not kept"
        )
    if claims and not doc_provenance.has_history():
        pytest.skip("the history of this copy is not complete")
    for claim in claims:
        for commit in claim.commits:
            assert doc_provenance.is_known(commit), f"{name_of(page)}: there is no commit {commit}"
            for command in claim.commands:
                missing = doc_provenance.missing(command, commit)
                assert missing is None, f"{name_of(page)}: {claim.text}: {commit} has no {missing}"


def test_commands_are_those_before_the_commits():
    text = (
        "`treetop methods` has\n`x`. Measured\nwith `make bench` and `y`, recorded in 1234567 (2026-01-31),\n"
        "89abcde (2026-01-31), and with `treetop compare`, at 7654321+changes (2026-01-31).\n"
        "And 8 % (`bench/x.py --a`, at 1111111)."
    )
    found = [(claim.commits, claim.commands) for claim in doc_provenance.claims(text)]
    assert found == [
        (["1234567", "89abcde"], ["make bench"]),
        (["7654321"], ["treetop compare"]),
        (["1111111"], ["bench/x.py --a"]),
    ]
    assert doc_provenance.spans_of_today(text) == ["treetop methods", "x"]


@pytest.mark.parametrize(
    "command",
    [
        "treetop train train.jsonl --model m --no-such-option",
        "treetop train train.jsonl",
        "treetop no-such-command",
        "treetop train train.jsonl --model m --set no_such_setting=1",
        "torchrun --nproc-per-node 2 -m treetop train train.jsonl --modle m",
        "make no-such-target",
        "pip install 'treetop-xmc[no-such-extra]'",
        "python bench/serving/no_such_script.py",
        "python bench/serving/latency.py MODEL TEXTS --no-such-option",
    ],
)
def test_what_the_program_does_not_know_is_found(command):
    with pytest.raises(Exception, match=r"(?i)no|missing"):
        doc_commands.check(command)


def test_output_is_compared():
    assert_printed("a \nb\nc\n", "a\n…\nc", "x")
    with pytest.raises(AssertionError, match="but the page has"):
        assert_printed("a\nb\n", "a\nc", "x")


# -- links and entries ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_resolve_where_the_pages_lie(page):
    """As on a code host: files next to the page, and headings in them."""
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{name_of(page)}: {link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)}: {link} names no heading"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"(?m)^#+ (.*)$", prose(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_method_has_a_page():
    named = [
        name
        for page in (ROOT / "docs" / "methods").glob("*.md")
        for names in re.findall(r"<!-- settings: (.*?) -->", page.read_text("utf-8"))
        for name in names.split()
    ]
    assert sorted(named) == sorted(METHODS)


def test_every_public_name_has_an_entry():
    import treetop

    entries = set(re.findall(r"(?m)^::: treetop\.(\w+)$", page_with("methods", "api.md")))
    assert {name for name in treetop.__all__ if not name.startswith("__")} <= entries


# -- the site ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = python(
        "-m", "mkdocs", "build", "--strict", "--config-file", ROOT / "mkdocs.yml", "--site-dir", folder
    )
    assert built.code == 0, built.err
    return folder


@pytest.mark.slow
def test_site_has_every_command_and_setting(site):
    html = (site / "commands.html").read_text("utf-8")
    for path in command_paths():
        assert f'id="{path.replace(" ", "-")}"' in html, path
    assert "--label-separator" in html and "Format of the input" in html
    for name in METHODS:
        heading = f'id="all-settings-of-{name}"'
        assert any(heading in page.read_text("utf-8") for page in (site / "methods").glob("*.html")), name
    assert "label_separator" in (site / "api.html").read_text("utf-8")


def command_paths() -> list[str]:
    import typer

    from treetop.cli.main import app

    def below(path, command):
        if hasattr(command, "commands"):
            return [
                found
                for name, child in command.commands.items()
                if not child.hidden
                for found in below(f"{path} {name}", child)
            ]
        return [path]

    return below("treetop", typer.main.get_command(app))


class Requests(HTMLParser):
    """What a browser loads by itself when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed"):
            self.found.append(values.get("src") or "")
        elif tag == "link" and values.get("rel") != "canonical":
            self.found.append(values.get("href") or "")
        assert "mermaid" not in (values.get("class") or ""), (
            "diagrams would be drawn by a script from elsewhere"
        )


@pytest.mark.slow
def test_site_asks_nobody_else(site):
    pages_read = 0
    for page in site.rglob("*.html"):
        parser = Requests()
        parser.feed(page.read_text("utf-8"))
        assert not [url for url in parser.found if re.match(r"(?:https?:)?//", url)], page.name
        pages_read += 1
    assert pages_read > 30
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", style.read_text("utf-8")), style.name
