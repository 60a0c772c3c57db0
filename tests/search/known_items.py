"""Known items: pages, looked for by their own distinctive words, in two indexes.

Reads the pages of a folder with Python's own parser, makes a query of a sample of them (the
words that are frequent on the page and rare elsewhere), asks an index of clewline and one of
SQLite FTS5 over the same pages, and prints a table. The page counts as found if it, or one with
the same bytes, is among the first three.

Usage: known_items.py PAGES ROOT CLEWLINE ASK JOB [COUNT]
"""

import collections
import hashlib
import html.parser
import json
import math
import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import time
import urllib.parse

WORD = re.compile(r"[^\W_]{3,30}")
WORDS_PER_QUERY = 5
FIRST = 3
WANTED = 0.95


class Reader(html.parser.HTMLParser):
    """The words that people see, and the title."""

    def __init__(self):
        super().__init__()
        self.text, self.title, self.hidden, self.in_title = [], [], 0, False

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style", "template", "noscript")
        self.in_title |= tag == "title"

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "template", "noscript") and self.hidden > 0
        self.in_title &= tag != "title"

    def handle_data(self, data):
        if not self.hidden:
            (self.title if self.in_title else self.text).append(data)


def read(folder):
    """Every page: path, digest, title, text."""
    for path in sorted(folder.rglob("*.html")):
        data = path.read_bytes()
        reader = Reader()
        reader.feed(data.decode("utf-8", "replace"))
        yield (
            path.relative_to(folder).as_posix(),
            hashlib.sha256(data).hexdigest(),
            " ".join("".join(reader.title).split()),
            " ".join(" ".join(reader.text).split()),
        )


def words(text):
    return [word.lower() for word in WORD.findall(text)]


def queries(pages, count):
    """Distinctive words of a sample of pages."""
    counts = {page[0]: collections.Counter(words(page[2] + " " + page[3])) for page in pages}
    spread = collections.Counter()
    for found in counts.values():
        spread.update(found.keys())
    names = sorted(name for name, found in counts.items() if len(found) >= WORDS_PER_QUERY)
    for name in random.Random(17).sample(names, min(count, len(names))):
        found = counts[name]
        weight = lambda word: (1 + math.log(found[word])) * math.log(len(pages) / spread[word])
        best = sorted(found, key=lambda word: (-weight(word), word))[:WORDS_PER_QUERY]
        yield name, " ".join(best)


def size(path):
    path = pathlib.Path(path)
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def percentile(times, share):
    times = sorted(times)
    return times[min(len(times) - 1, int(len(times) * share))]


def ask_clewline(ask, job, asked, root):
    """The paths that are found for each query, and the times in milliseconds."""
    text = "".join(query + "\n" for _, query in asked)
    answer = subprocess.run([ask, job], input=text, capture_output=True, text=True, check=True)
    found, times = [], []
    for line in answer.stdout.splitlines():
        results = json.loads(line)
        urls = [[hit["url"], *hit["also"]] for hit in results["hits"][:FIRST]]
        strip = lambda url: urllib.parse.unquote(url.removeprefix(root)) or "index.html"
        found.append([strip(url) for group in urls for url in group])
        times.append(results["took_ms"])
    return found, times


def ask_sqlite(database, asked):
    found, times = [], []
    for _, query in asked:
        match = " OR ".join('"%s"' % word for word in query.split())
        began = time.perf_counter()
        rows = database.execute(
            "SELECT path, snippet(pages, 2, '[', ']', '', 20) FROM pages WHERE pages MATCH ?"
            " ORDER BY bm25(pages, 0, 3.0, 1.0) LIMIT 10",
            (match,),
        ).fetchall()
        times.append((time.perf_counter() - began) * 1000)
        found.append([row[0] for row in rows[:FIRST]])
    return found, times


def share(asked, found, digests):
    hits = 0
    for (name, query), paths in zip(asked, found, strict=True):
        is_found = any(digests.get(path) == digests[name] for path in paths)
        hits += is_found
        if not is_found and os.environ.get("SHOW_MISSES"):
            print("missed:", name, "|", query, "|", paths, file=sys.stderr)
    return hits / len(asked)


def row(name, quality, seconds, size_in, times):
    print(
        f"| {name} | {quality:.1%} | {seconds:.1f} s | {size_in / 1e6:.1f} MB"
        f" | {percentile(times, 0.5):.2f} ms | {percentile(times, 0.99):.2f} ms |"
    )


def main():
    folder, root, clewline, ask, job = sys.argv[1:6]
    count = int(sys.argv[6]) if len(sys.argv) > 6 else 1000
    began = time.perf_counter()
    subprocess.run([clewline, "index", "--rebuild", job], check=True)
    ours = time.perf_counter() - began
    began = time.perf_counter()
    pages = list(read(pathlib.Path(folder)))
    reading = time.perf_counter() - began
    file = pathlib.Path(job).with_suffix(".sqlite")
    file.unlink(missing_ok=True)
    database = sqlite3.connect(file)
    began = time.perf_counter()
    tokens = "tokenize=\"unicode61 remove_diacritics 2\""
    database.execute(f"CREATE VIRTUAL TABLE pages USING fts5(path UNINDEXED, title, body, {tokens})")
    rows = [(path, title, text) for path, _, title, text in pages]
    database.executemany("INSERT INTO pages VALUES (?, ?, ?)", rows)
    database.execute("INSERT INTO pages(pages) VALUES ('optimize')")
    database.commit()
    theirs = time.perf_counter() - began
    asked = list(queries(pages, count))
    digests = {path: digest for path, digest, *_ in pages}
    found, times = ask_clewline(ask, job, asked, root)
    other, other_times = ask_sqlite(database, asked)
    quality = share(asked, found, digests)
    print(f"{len(pages)} pages, {len(asked)} queries of {WORDS_PER_QUERY} words\n")
    print(f"| index | found in the first {FIRST} | built in | size | p50 | p99 |\n|---|---|---|---|---|---|")
    row("clewline", quality, ours, size(pathlib.Path(job) / "index"), times)
    row("SQLite FTS5", share(asked, other, digests), theirs, size(file), other_times)
    print(
        f"\nclewline's time includes reading the archive and the pages; SQLite's does not"
        f" (Python reads them in {reading:.1f} s)."
    )
    sys.exit(0 if quality >= WANTED else 1)


main()
