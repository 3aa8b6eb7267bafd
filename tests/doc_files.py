"""Small versions of the files that the documentation mentions: texts of a help desk, and a BERT."""

from __future__ import annotations

import csv
import json
import lzma
import random
import shutil
from pathlib import Path

TOPICS = {
    "billing": "charged twice invoice payment card amount",
    "refund": "refund money back return paid",
    "login": "password login account locked forgot",
    "shipping": "parcel delivery late courier tracking",
    "datetime": "parse a date from a string calendar",
    "threading": "wait for several threads to finish results",
}
LABEL_TEXTS = {
    "billing": "invoices and payments",
    "refund": "money back",
    "login": "accounts",
    "shipping": "parcels",
}


ENCODERS = "path/to/folder", "path/to/another"


def write_files(folder: Path, page: str) -> None:
    """The same for all pages; an encoder only where one is mentioned, since importing torch takes long."""
    rows = make_rows(110)
    for name, part in {
        "train.jsonl": rows[:60],
        "test.jsonl": rows[60:80],
        "held-out.jsonl": rows[80:],
        "more.jsonl": rows[80:],
        "new.jsonl": rows[80:85],
    }.items():
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in part), "utf-8")
    for name in ("deb-tags", "deb-deps"):
        (folder / name).mkdir()
        for split, part in (("train", rows[:60]), ("test", rows[60:80])):
            with lzma.open(folder / name / f"{split}.jsonl.xz", "wt", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(row)}\n" for row in part)
    write_table(folder / "new.csv", rows[80:85])
    (folder / "label-texts.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in LABEL_TEXTS.items()), "utf-8")
    (folder / "train.txt").write_text("4 5 3\n0,2 0:1.0 3:0.5\n1 1:1.0\n2 2:0.5 4:1.0\n0 0:0.7\n", "utf-8")
    for encoder in ENCODERS:
        if encoder in page:
            from tiny_bert import tiny_bert

            shutil.copytree(tiny_bert(layers=6, longest=128), folder / encoder)


def write_table(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["title", "body"])
        table.writerows(str(row["text"]).split("\n") for row in rows)


def make_rows(count: int) -> list[dict[str, object]]:
    """Texts of two lines that carry their one or two labels, in groups of two."""
    draw = random.Random(0)
    rows: list[dict[str, object]] = []
    for number in range(count):
        labels = draw.sample(list(TOPICS), draw.choice((1, 2)))
        words = [draw.choice(TOPICS[label].split()) for label in labels for _ in range(5)]
        text = f"{' '.join(words[:3])}\nHello, {' '.join(words)}"
        rows.append({"id": str(number), "text": text, "labels": labels, "group": f"g{number // 2}"})
    return rows
