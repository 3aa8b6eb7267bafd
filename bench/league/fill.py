"""Refreshes the numbers that pages quote from the league table, or from a table of another page.

    python bench/league/fill.py [--check]

A comment names the source; the numbers up to the next comment are replaced in order and keep their decimals:

    <!-- from league: P@1, train s of deb-deps | xr-linear -->67.9 %, trained in 3.4<!-- / --> s
    <!-- from benchmarks.md: train s of deb-deps | PECOS, defaults -->32.6<!-- / --> s
    <!-- from methods/ensemble.md: P@1 of deb-deps | XR-Linear -->66.93<!-- / --> %

Several quotes are separated by ";", and a key alone has the metrics of the one before it. Above a table the
comment has one key per row, and the metrics are those of its last columns; "-" is a row or a column that is
not quoted:

    <!-- from league: P@1, P@5, train s of deb-deps | lightxml; -; tib-core | lightxml -->

Where the line below such a table says "From the [league table](…), recorded in …", it gets the commits.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean, stdev

sys.path.insert(0, str(Path(__file__).parents[1]))

import records
from common import provenance
from common.options import parser_for

DOCS = provenance.ROOT / "docs"
MARK = r"<!-- from ([\w./-]+): ([^\n]+?) -->"
INLINE = re.compile(rf"({MARK})(?!\n)(.*?)(?=<!-- / -->)", re.DOTALL)
TABLE = re.compile(rf"({MARK}\n\n?)((?:\|[^\n]*\n){{2}})((?:\|[^\n]*(?:\n|$))+)(\n[^\n]+)?")
ORIGIN = re.compile(r"(From the \[league table\]\(\S+\), )[^.:]*")
NUMBER = re.compile(r"(?<![@\w.-])\d[\d,]*(?:\.\d+)?(?: ± \d+(?:\.\d+)?)?(?!\w)")
"""Not the digits of names, as in P@1 and Amazon-670K."""
NOTHING = "-"

Key = tuple[str, ...]
Source = Callable[[Key, str], list[float]]
"""The values of a metric of a key: one, or one of each seed."""


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a number has changed")
    options = parser.parse_args()
    changed = [page for page in pages() if filled(text := page.read_text("utf-8")) != text]
    for page in changed:
        print(page.relative_to(provenance.ROOT))
        if not options.check:
            page.write_text(filled(page.read_text("utf-8")), "utf-8")
    sys.exit("run python bench/league/fill.py" if options.check and changed else 0)


def pages() -> list[Path]:
    return [provenance.ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def filled(text: str) -> str:
    """A page with all quoted numbers replaced."""
    return TABLE.sub(_filled_table, INLINE.sub(_filled_inline, text))


def _filled_inline(found: re.Match[str]) -> str:
    mark, source, body, quoted = found.groups()
    values = [source_of(source)(key, name) for names, key in quotes(body) for name in names]
    return mark + replaced(quoted, values, mark)


def _filled_table(found: re.Match[str]) -> str:
    mark, source, body, head, rows, below = found.groups()
    lines = rows.splitlines()
    wanted = list(quotes(body))
    if len(wanted) != len(lines):
        raise ValueError(f"{mark.strip()}: the table has {len(lines)} rows; name a key for each, or -")
    lines = [
        line if key == (NOTHING,) else _filled_row(line, source_of(source), names, key, mark)
        for line, (names, key) in zip(lines, wanted, strict=True)
    ]
    if below:
        keys = [key for _, key in wanted if key != (NOTHING,)]
        below = ORIGIN.sub(lambda line: line[1] + commits(keys), below)
    return mark + head + "\n".join(lines) + rows[len(rows.rstrip("\n")) :] + (below or "")


def _filled_row(line: str, source: Source, names: list[str], key: Key, mark: str) -> str:
    cells = line.strip("| ").split(" | ")
    labels = len(cells) - len(names)
    quoted = [
        cell if name == NOTHING else replaced(cell, [source(key, name)], mark)
        for cell, name in zip(cells[labels:], names, strict=True)
    ]
    return f"| {' | '.join(cells[:labels] + quoted)} |"


def quotes(body: str) -> Iterator[tuple[list[str], Key]]:
    """``P@1, P@3 of deb-deps | plt; deb-deps | bonsai``: metrics and keys."""
    names: list[str] = []
    for quote in body.split(";"):
        listed, of, key = quote.strip().rpartition(" of ")
        names = listed.split(", ") if of else names
        yield names, tuple(part.strip() for part in key.split(" | "))


def replaced(text: str, values: list[list[float]], mark: str) -> str:
    left = iter(values)
    if len(NUMBER.findall(text)) != len(values):
        raise ValueError(f"{mark.strip()}{text}: name {len(NUMBER.findall(text))} metrics, one per number")
    return NUMBER.sub(lambda number: written(number[0], next(left)), text)


def written(like: str, values: list[float]) -> str:
    """The mean with the decimals that it had, and its deviation where it had one."""
    number, _, deviation = like.partition(" ± ")
    decimals = len(number.partition(".")[2])
    mean = f"{fmean(values):,.{decimals}f}"
    return f"{mean} ± {stdev(values):.{decimals}f}" if deviation and len(values) > 1 else mean


def source_of(name: str) -> Source:
    return league if name == "league" else page_source(DOCS / name)


def league(key: Key, name: str) -> list[float]:
    return records.values(runs_of(key), name)


def commits(keys: list[Key]) -> str:
    return provenance.origin(run for key in keys for run in runs_of(key))


def runs_of(key: Key) -> list[records.Record]:
    data, method = key
    return records.read(records.RECORDS / f"{data}.jsonl")[method]


def page_source(page: Path) -> Source:
    """The numbers in the tables of a page, by the first cells of a row and the start of a column's head."""
    text = page.read_text("utf-8")

    def find(key: Key, name: str) -> list[float]:
        found = {number for head, rows in tables(text) for number in numbers(head, rows, key, name)}
        if len(found) != 1:
            raise ValueError(f"{page.name} has {len(found) or 'no'} {name} of {' | '.join(key)}")
        return list(found)

    return find


def numbers(head: list[str], rows: list[list[str]], key: Key, name: str) -> Iterator[float]:
    """Of the first column with the name, without deviations."""
    columns = (place for place, cell in enumerate(head) if cell == name or cell.startswith(f"{name}:"))
    column = next(columns, None)
    for cells in rows:
        if column is not None and tuple(cells[: len(key)]) == key:
            number = NUMBER.search(cells[column])
            assert number is not None
            yield float(number[0].partition(" ± ")[0].replace(",", ""))


def tables(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Heads and rows; a first cell that is left empty repeats the one above it."""
    for found in re.finditer(r"(?m)(?:^\|.*\n?){3,}", text):
        head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in found[0].splitlines())
        for above, row in itertools.pairwise(rows):
            row[0] = row[0] or above[0]
        yield head, rows


if __name__ == "__main__":
    main()
