"""Other people's tools read our tables: the same counts, types and values.

check.py CLEWLINE FOLDER PAGES: CLEWLINE is the command, FOLDER is emptied, PAGES pages are crawled.
Needs the packages pyarrow and duckdb. Ends with 1 at the first difference.
"""

import csv
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import threading
import xml.etree.ElementTree

import duckdb
import pyarrow as pa
import pyarrow.parquet

# What docs/formats.md says of the tables.
STRING, INT, LONG = pa.string(), pa.int32(), pa.int64()
PAGES = {
    "url": STRING, "key": STRING, "host": STRING, "outcome": STRING, "status": INT, "content_type": STRING,
    "charset": STRING, "depth": INT, "kind": STRING, "found_on": STRING, "redirect_to": STRING, "reason": STRING,
    "failure": STRING, "error": STRING, "wire_bytes": LONG, "body_bytes": LONG, "truncated": pa.bool_(),
    "links": INT, "new_links": INT, "tries": INT, "milliseconds": pa.float64(), "address": STRING,
    "digest": STRING, "lastmod": STRING, "noindex": pa.bool_(), "fetched_at": pa.timestamp("ms", tz="UTC"),
    "canonical": STRING, "duplicate_of": STRING, "rendered": pa.bool_(), "html_title": STRING, "title": STRING,
    "schema_version": INT,
    "h1": STRING, "html_lang": STRING, "language": STRING, "description": STRING,
    "author": STRING, "published": STRING, "modified": STRING, "headings": STRING, "words": INT,
    "text_hash": STRING, "simhash": STRING, "text": STRING, "markdown": STRING, "unreadable": STRING, "items": STRING,
}
LINKS = {
    "source_url": STRING, "target_url": STRING, "source_key": STRING, "target_key": STRING, "kind": STRING,
    "text": STRING, "rel": STRING, "fragment": STRING, "schema_version": INT,
}
ITEMS = {"url": STRING, "rule": STRING, "number": INT, "item": STRING, "schema_version": INT}
NEVER_EMPTY = {
    "url", "key", "host", "outcome", "depth", "kind", "wire_bytes", "body_bytes", "truncated", "links",
    "new_links", "tries", "noindex", "rendered", "schema_version",
}
DUCKDB = {STRING: "VARCHAR", INT: "INTEGER", LONG: "BIGINT", pa.bool_(): "BOOLEAN", pa.float64(): "DOUBLE"}

RULES = """
[[rule]]
name = "figures"
select = "li"
list = true
type = "number"
"""


def check(holds, what):
    if not holds:
        sys.exit(f"export: {what}")


class Pages(http.server.BaseHTTPRequestHandler):
    """Pages with links to the next ones; every tenth has a title that means something to a spreadsheet."""

    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self):
        name = self.path.strip("/") or "0"
        if not name.isdigit() or int(name) >= self.count:
            self.send_error(404)
            return
        number = int(name)
        below = [link for link in range(number * 10 + 1, number * 10 + 11) if link < self.count + 5]
        links = "".join(f"<a href='/{link}'>{link}</a> " for link in below)
        title = f"=1+{number}" if number % 10 == 0 else f"Page \u00e4 {number}"
        words = " ".join(f"w{number * step % 997}" for step in range(60))
        body = f"<title>{title}</title><h1>{number}</h1>{links}<p>{words}</p><ul><li>{number}<li>x</ul>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def table(path, expected, never_empty):
    """The table as pyarrow reads it; DuckDB must see the same."""
    read = pyarrow.parquet.read_table(path)
    found = {field.name: field.type for field in read.schema}
    check(found == expected, f"{path.name} has {found}")
    for field in read.schema:
        check(field.nullable != (field.name in never_empty), f"{field.name} of {path.name} may be empty or not")
    described = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    kinds = {row[0]: row[1] for row in described}
    wanted = {name: DUCKDB.get(kind, "TIMESTAMP WITH TIME ZONE") for name, kind in expected.items()}
    check(kinds == wanted, f"DuckDB sees {kinds} in {path.name}")
    count = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]
    check(count == read.num_rows, f"DuckDB counts {count} rows of {path.name}, pyarrow {read.num_rows}")
    return read.to_pylist()


def main():
    clewline, folder, Pages.count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    job, rules = folder / "job", folder / "rules.toml"
    rules.write_text(RULES)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}/"

    def run(*arguments):
        ran = subprocess.run([clewline, *map(str, arguments)], capture_output=True, text=True)
        check(ran.returncode == 0, f"{arguments} ended with {ran.returncode}: {ran.stderr}")
        return ran.stdout

    run("crawl", root, "--speed", "max", "-o", job, "--no-config", "-q")
    server.shutdown()
    records = [json.loads(line) for line in (job / "urls.jsonl").read_text().split("\n") if line]
    check(sum(one.get("status") == 200 for one in records) >= Pages.count, "the crawl is too short")

    run("export", job, "--to", "parquet", "-o", folder / "tables", "--rules", rules)
    pages = table(folder / "tables/pages.parquet", PAGES, NEVER_EMPTY)
    links = table(folder / "tables/links.parquet", LINKS, {"source_url", "source_key", "target_key", "kind", "schema_version"})
    items = table(folder / "tables/items.parquet", ITEMS, set(ITEMS))
    check(len(pages) == len(records), f"{len(pages)} rows of {len(records)} records")
    for page, record in zip(pages, records):
        for name in ("url", "key", "outcome", "status", "depth", "body_bytes", "links", "digest", "charset"):
            check(page[name] == record.get(name), f"{name} of {page['url']} is {page[name]}")
        at = page["fetched_at"].isoformat(timespec="milliseconds").replace("+00:00", "Z")
        check(at == record["fetched_at"], f"{page['url']} was fetched at {at}")
        has_text = record.get("status") == 200 and record.get("content_type") == "text/html"
        check(bool(page["text"]) == has_text == bool(page["markdown"]), f"the text of {page['url']}")
    check(len(links) == sum(record["links"] for record in records), f"{len(links)} links")
    urls = {record["key"]: record["url"] for record in records}
    for link in links:
        check(link["source_url"] == urls[link["source_key"]], f"{link} has another source")
        check(link["target_url"] == urls.get(link["target_key"]), f"{link} has another target")
        if link["kind"] == "anchor":
            check(link["text"] == link["target_url"].rsplit("/", 1)[1], f"{link} has another text")
    figures = [item for item in items if item["rule"] == "figures"]
    check(len(figures) >= Pages.count, f"{len(figures)} items")
    joined = duckdb.sql(
        f"SELECT count(*) FROM '{folder}/tables/links.parquet' l JOIN '{folder}/tables/pages.parquet' p "
        "ON l.target_key = p.key WHERE p.status = 200"
    ).fetchall()[0][0]
    known = {record["key"] for record in records if record.get("status") == 200}
    check(joined == sum(link["target_key"] in known for link in links), f"{joined} links lead to pages")

    rows = list(csv.DictReader(run("export", job, "--to", "csv", "-o", "-").splitlines()))
    check([row["url"] for row in rows] == [record["url"] for record in records], "the rows of csv")
    for row, record in zip(rows, records):
        title = record.get("title", "")
        check(row["title"] == ("'" + title if title.startswith("=") else title), f"title {row['title']}")
        check(not any(cell[:1] in tuple("=+-@\t\r") and cell[:1] for cell in row.values()), f"a formula in {row}")
    lines = [json.loads(line) for line in run("export", job, "--to", "jsonl", "-o", "-").split("\n") if line]
    check([line.get("text") for line in lines] == [page["text"] for page in pages], "the texts of jsonl")
    run("export", job, "--to", "graph", "-o", folder / "graph")
    graph = xml.etree.ElementTree.parse(folder / "graph/graph.graphml").getroot()
    space = "{http://graphml.graphdrawing.org/xmlns}"
    check(len(list(graph.iter(f"{space}node"))) == len(records), "the nodes of the graph")
    print(f"export: {len(pages)} pages, {len(links)} links, {len(items)} items read back by pyarrow and DuckDB")


main()
