"""Commands as the documentation writes them: parsed, checked against the program, run."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from doc_blocks import ROOT
from doc_server import DocServer
from treetop.cli.main import app, main
from treetop.cli.options import parse_settings
from treetop.cli.train import DEFAULT
from treetop.methods import METHODS, method_class
from treetop.recipes import find_recipe

HARMLESS = ("echo", "printf", "cat", "head", "wc", "ls", "mkdir", "cp", "rm")
_MARKS = frozenset("|><&;()")


class CommandError(AssertionError):
    """A command in the documentation that the program would not understand."""


def commands(text: str) -> list[str]:
    """The commands of a shell block, a string each: continued lines joined, comments left out."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def console_steps(text: str) -> list[tuple[str, str]]:
    """``$ command`` and the output below it."""
    steps: list[tuple[str, list[str]]] = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif not steps:
            raise CommandError(f"a console block begins with '$ ', not with {line!r}")
        else:
            steps[-1][1].append(line)
    return [(command, "\n".join(output)) for command, output in steps]


def pipeline(command: str) -> tuple[list[list[str]], str | None]:
    """``a b | c > file`` → ``[[a, b], [c]], file``."""
    words = shlex.shlex(command, posix=True, punctuation_chars="|><&;()")
    words.whitespace_split = True
    parts: list[list[str]] = [[]]
    target, reading_target = None, False
    for word in words:
        if reading_target:
            target, reading_target = word, False
        elif word == "|":
            parts.append([])
        elif word == ">":
            reading_target = True
        elif set(word) <= _MARKS:
            raise CommandError(f"{command!r}: {word} is more than these tests run")
        else:
            parts[-1].append(word)
    return parts, target


def run(command: str, server: DocServer) -> str:
    """Runs it in the folder of this process; what it prints on standard output."""
    parts, target = pipeline(server.addressed(command))
    output = ""
    for words in parts:
        output = _run_one(words, output, server)
    if target is not None:
        Path(target).write_text(output, "utf-8")
        return ""
    return output


def _run_one(words: list[str], given: str, server: DocServer) -> str:
    match words:
        case ["treetop", "serve", *arguments]:
            server.start(arguments)
            return ""
        case ["treetop", *arguments]:
            return _treetop(arguments, given)
        case ["pip", "install", *_]:
            check_install(words)
            return ""
        case ["curl", *arguments]:
            return _program(["curl", "--fail-with-body", *arguments], given)
        case [name, *_] if name in HARMLESS:
            return _program(words, given)
    raise CommandError(f"{words[0]!r} is not run by these tests; mark the block")


def _program(words: list[str], given: str) -> str:
    done = subprocess.run(words, input=given, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise CommandError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _treetop(arguments: list[str], given: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
    before, sys.stdin = sys.stdin, stdin
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise CommandError(
                f"treetop {' '.join(arguments)}: exit code {end.code}\n{err.getvalue()}"
            ) from None
    finally:
        sys.stdin = before
    return out.getvalue()


def check(command: str) -> None:
    """That a command which is not run would be understood."""
    for words in pipeline(command)[0]:
        named = [word for word in words if not re.fullmatch(r"[A-Z_]+=\S*", word)]  # A=B sets a variable
        if named[:1] == ["torchrun"] and "treetop" in named:
            named = named[named.index("treetop") :]
        match named:
            case ["treetop", *arguments]:
                check_treetop(arguments)
            case ["make", *targets]:
                check_make(targets)
            case ["pip", "install", *_]:
                check_install(named)
            case ["python", script, *_] if script.startswith("bench/"):
                check_script(named[1:])


def check_install(words: list[str]) -> None:
    """treetop itself, here or by name, with extras that there are."""
    known = importlib.metadata.metadata("treetop-xmc").get_all("Provides-Extra") or []
    for word in words[2:]:
        found = re.fullmatch(r"(?:treetop-xmc|\.)(?:\[([\w,]+)\])?", word)
        extras = found.group(1).split(",") if found and found.group(1) else []
        if not found or not set(extras) <= set(known):
            raise CommandError(f"{' '.join(words)}: there is no {word}")


def check_treetop(arguments: list[str]) -> None:
    """Parses them as the program would, and looks up the settings that are changed."""
    name, command, rest = find_command(arguments)
    if hasattr(command, "commands"):
        return
    try:
        context = command.make_context(name, list(rest))
    except SystemExit:
        return  # --help and --version
    except Exception as error:
        message = error.format_message() if hasattr(error, "format_message") else error
        raise CommandError(f"treetop {' '.join(arguments)}: {message}") from None
    check_settings(name, context.params)


def check_settings(name: str, values: dict[str, Any]) -> None:
    if name not in ("train", "tune"):
        return
    recipe = values.get("recipe")
    method = find_recipe(recipe).method if recipe else values.get("method") or DEFAULT
    method_class(method).config_class().replace_settings(parse_settings(values.get("settings")))


def check_span(span: str) -> None:
    """A command in running text, which may leave things out: its name and options must exist."""
    words = span.split()[1:]
    name, command, rest = find_command([word for word in words if word != "…"])
    known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    known |= {"--help", "-h"}
    if name == "treetop":
        known |= {"--install-completion"}
    for word in rest:
        if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known:
            raise CommandError(f"{span}: {name} has no option {word}")
    if name == "methods" and rest and rest[0].islower() and rest[0] not in METHODS:
        raise CommandError(f"{span}: there is no method {rest[0]}")


def find_command(arguments: list[str]) -> tuple[str, Any, list[str]]:
    """The command that they name, and what follows."""
    name, command, rest = "treetop", typer.main.get_command(app), list(arguments)
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name not in command.commands:
            raise CommandError(f"treetop {' '.join(arguments)}: there is no command {name}")
        command = command.commands[name]
    return name, command, rest


def check_make(arguments: list[str]) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for word in arguments:
        if "=" not in word and word not in targets:
            raise CommandError(f"make has no target {word}")


def check_script(words: list[str]) -> None:
    """A program of ``bench/`` exists, and its source names the options."""
    path = ROOT / words[0]
    if not path.exists():
        raise CommandError(f"there is no {words[0]}")
    source = "".join(sorted(_sources(path)))
    for word in words[1:]:
        option = word.partition("=")[0]
        if option.startswith("--") and f'"{option}"' not in source:
            raise CommandError(f"{words[0]} has no option {option}")


def _sources(path: Path) -> Iterator[str]:
    """The script, and the shared module that declares options for it."""
    yield path.read_text("utf-8")
    yield (ROOT / "bench" / "common" / "options.py").read_text("utf-8")
