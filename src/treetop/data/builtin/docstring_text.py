"""A docstring as plain sentences, and the names it refers to.

Two conventions are understood: reStructuredText roles (:func:`open`, `open`) and numpy's underlined sections.
Sections that only point elsewhere (See Also, Raises) give labels and are removed from the text, so that the
labels are not simply spelled out in it; examples, formulas and bibliographies, which are not prose, are too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

POINTERS = frozenset({"see also", "raises", "warns"})
NOT_PROSE = frozenset({"references", "examples", "example", "methods", "attributes"})

_UNDERLINE = re.compile(r"\s*([-=~^\"*#])\1{2,}\s*$")
_SIGNATURE = re.compile(
    r"\A\s*[A-Za-z_][\w.]*\((?:[^()]|\([^()]*\))*\)(?:[ ]*-+>[^\n]*)?[ ]*(?:\n+|\Z)(?:--\n+)?"
)
_PROMPT = re.compile(r"\s*(>>>|\.\.\. |\$ |In \[)")
_BLOCK = re.compile(r"(\s*)\.\. (math|plot|code-block|code|index|ipython|testcode|doctest|image|figure)::")
_DIRECTIVE = re.compile(r"\s*\.\. ([\w-]+::|_|\[|#)?.*")
_ROLE = re.compile(r":[a-z][a-z:]*:`~?\.?([^`<]*?)(?:\s*<[^`>]*>)?`")
_MARKUP = re.compile(r"``|`~?|\*\*|%\([^)]*\)[sd]|\\[a-zA-Z]+|[{}$\\]|(?<=\w)_(?= |$)")
_REFERENCE = re.compile(r"(?<!`)(?::[a-z][a-z:]*:)?`([^`\n]+)`(?!`)")
_TARGET = re.compile(r"<([^>]+)>\s*$")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_IN_PROSE = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\b[A-Za-z_]\w*(?=\(\))")
_EXCEPTION = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration)\b")


def plain_text(doc: str) -> str:
    """The prose of a docstring on one line."""
    doc = inspect.cleandoc(doc)
    while match := _SIGNATURE.match(doc):  # C functions put their call signature first
        doc = doc[match.end() :]
    words: list[str] = []
    for title, lines in sections(doc):
        if title not in POINTERS and title not in NOT_PROSE:
            prose = "\n".join(_prose(lines))
            words += _MARKUP.sub("", _ROLE.sub(r"\1", prose)).split()
    return " ".join(words)


def references(doc: str) -> Iterator[str]:
    """Names that a docstring may refer to: `name`, "os.path", "open()", and the entries of "See Also"."""
    for title, lines in sections(inspect.cleandoc(doc)):
        if title == "see also":
            for line in lines:
                if line and not line[0].isspace():
                    yield from _DOTTED.findall(line.partition(" : ")[0].replace("`", " "))
        elif title not in NOT_PROSE:
            prose = "\n".join(_prose(lines))
            yield from _IN_PROSE.findall(prose)
            for match in _REFERENCE.finditer(prose):
                target = _TARGET.search(match[1])
                name = (target[1] if target else match[1]).strip().lstrip("~.").removesuffix("()")
                if _DOTTED.fullmatch(name):
                    yield name


def exceptions(doc: str) -> set[str]:
    """Names in a docstring that look like names of exceptions."""
    return set(_EXCEPTION.findall(doc))


def sections(doc: str) -> Iterator[tuple[str, list[str]]]:
    """Underlined titles, in lower case, and the lines below each; the first part has no title."""
    title, lines = "", list[str]()
    for line in doc.split("\n"):
        if _UNDERLINE.match(line):
            heading = lines.pop() if lines else ""
            yield title, lines
            title, lines = heading.strip().lower(), []
        else:
            lines.append(line.rstrip())
    yield title, lines


def _prose(lines: list[str]) -> Iterator[str]:
    """The lines without interactive sessions, directives, and the indented bodies of formulas and code."""
    in_session = False
    body_of: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if body_of is not None and (not line or indent > body_of):
            continue
        block = _BLOCK.match(line)
        body_of = len(block[1]) if block else None
        in_session = bool(line) and (in_session or bool(_PROMPT.match(line)))
        if not (block or in_session or _DIRECTIVE.fullmatch(line)):
            yield line
