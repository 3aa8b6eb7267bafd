"""Writes unicode_tables.hpp: what str.lower(), str.isalnum() and str.isspace() say of every code point.

Run at build time by the Python the extension is built for, so that native tokens equal that Python's own.

    python make_unicode_tables.py OUTPUT
"""

import sys
from pathlib import Path

CODE_POINTS = 0x110000
BLOCK_BITS = 7
BLOCK = 1 << BLOCK_BITS
WORD, SPACE, CASED, CASE_IGNORABLE, SPECIAL_LOWER = 1, 2, 4, 8, 16


def flags_of(char: str) -> int:
    """The properties of one code point.

    Case properties are read off the final-sigma rule: a capital sigma at the end of a word becomes U+03C2,
    that is, when the nearest character before it that is not case-ignorable is cased.
    """
    flags = WORD if char.isalnum() or char == "_" else 0
    flags |= SPACE if char.isspace() else 0
    if (char + "\u03a3").lower()[-1] == "\u03c2":
        flags |= CASED
    elif ("A" + char + "\u03a3").lower()[-1] == "\u03c2":
        flags |= CASE_IGNORABLE
    return flags


def tables() -> tuple[list[int], list[int], list[tuple[int, int]], list[tuple[int, list[int]]]]:
    """Block numbers, record numbers by distinct block, records (lower-case step, flags), long mappings."""
    records: dict[tuple[int, int], int] = {}
    blocks: dict[tuple[int, ...], int] = {}
    block_of: list[int] = []
    special: list[tuple[int, list[int]]] = []
    for start in range(0, CODE_POINTS, BLOCK):
        numbers = []
        for code in range(start, start + BLOCK):
            char = chr(code)
            lower = [ord(c) for c in char.lower()]
            flags, step = flags_of(char), 0
            if len(lower) == 1:
                step = lower[0] - code
            else:
                flags |= SPECIAL_LOWER
                special.append((code, lower))
            if not 0xD800 <= code < 0xE000:  # the bound on the size of a lower-cased token, see tokens.hpp
                assert len(char.lower().encode()) <= 2 * len(char.encode())
            numbers.append(records.setdefault((step, flags), len(records)))
        block_of.append(blocks.setdefault(tuple(numbers), len(blocks)))
    return block_of, [number for block in blocks for number in block], list(records), special


def array(kind: str, name: str, values: list[str]) -> str:
    lines = ["    " + ", ".join(values[i : i + 16]) + "," for i in range(0, len(values), 16)]
    return f"inline constexpr {kind} {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


def main() -> None:
    block_of, record_of, records, special = tables()
    longest = max(len(lower) for _, lower in special)
    text = [
        "// Made by make_unicode_tables.py; do not edit.",
        "#pragma once",
        "#include <cstdint>",
        "namespace treetop::unicode {",
        f"inline constexpr std::uint8_t kWord = {WORD}, kSpace = {SPACE}, kCased = {CASED},",
        f"                              kCaseIgnorable = {CASE_IGNORABLE}, kSpecialLower = {SPECIAL_LOWER};",
        f"inline constexpr unsigned kBlockBits = {BLOCK_BITS};",
        "struct Record { std::int32_t lower_step; std::uint8_t flags; };",
        f"struct SpecialLower {{ char32_t from; int count; char32_t to[{longest}]; }};",
        array("std::uint16_t", "kBlockOf", [str(number) for number in block_of]),
        array("std::uint16_t", "kRecordOf", [str(number) for number in record_of]),
        array("Record", "kRecords", [f"{{{step}, {flags}}}" for step, flags in records]),
        array(
            "SpecialLower",
            "kSpecialLowers",
            [f"{{{code}, {len(to)}, {{{', '.join(map(str, to))}}}}}" for code, to in special],
        ),
        "}  // namespace treetop::unicode",
    ]
    Path(sys.argv[1]).write_text("\n".join(text) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
