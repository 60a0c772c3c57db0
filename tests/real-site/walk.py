"""Walks a real site with Python's own parsers and compares what it saw with what a crawl recorded.

Usage: walk.py ROOT JOB_FOLDER REPORT_JSON ACCESS_LOG

It shares no line with the crawler, so that both cannot make the same mistake. Four witnesses must
agree on every URL: this walk, the records of the crawl, its report, and the server's access log, whose
lines are "PATH USER-AGENT". It knows only what the real site needs: one host, UTF-8, no redirects, and a
robots.txt that forbids nothing that is linked.
"""

import collections
import html.parser
import http.client
import json
import pathlib
import re
import sys
import urllib.parse

AGENT = "walk.py"
# How many differences of one sort are shown.
SHOWN = 10
# Relations of <link> that name a part of the page and not another page.
PARTS = {"stylesheet", "icon", "manifest", "preload", "prefetch", "dns-prefetch", "preconnect"}
REFUSALS = {"nofollow", "ugc", "sponsored"}

Seen = collections.namedtuple("Seen", "status size title")


class Document(html.parser.HTMLParser):
    """The title and the references of one page that lead to other pages."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.references = []
        self.base = None
        self.title = None
        self.in_title = False

    def handle_starttag(self, tag, attrs):
        # Of an attribute that is written twice the first counts, as in browsers.
        attributes = {name: value or "" for name, value in reversed(attrs)}
        relations = set(attributes.get("rel", "").lower().split())
        if tag == "title" and self.title is None:
            self.in_title, self.title = True, ""
        elif tag == "base" and self.base is None:
            self.base = attributes.get("href")
        elif tag in ("a", "area") and not relations & REFUSALS:
            self.refer(attributes.get("href"))
        elif tag in ("iframe", "frame"):
            self.refer(attributes.get("src"))
        elif tag == "link" and relations and not relations & PARTS:
            self.refer(attributes.get("href"))
        elif tag == "meta" and attributes.get("http-equiv", "").lower() == "refresh":
            _, found, target = attributes.get("content", "").partition("=")
            self.refer(target.strip(" '\"") if found else None)

    def handle_endtag(self, tag):
        if tag == "title":
            self.in_title = False

    def handle_data(self, data):
        if self.in_title:
            self.title += data

    def refer(self, reference):
        if reference is not None:
            self.references.append(reference)

    def pages(self, url):
        """The absolute URLs on the same host, without fragments."""
        base = urllib.parse.urljoin(url, self.base) if self.base else url
        host = urllib.parse.urlsplit(url).netloc
        for reference in self.references:
            absolute, _ = urllib.parse.urldefrag(urllib.parse.urljoin(base, cleaned(reference)))
            parts = urllib.parse.urlsplit(absolute)
            if parts.scheme == "http" and parts.netloc == host:
                path = urllib.parse.quote(parts.path or "/", safe="/%:;=@!$&'()*+,~|[]")
                yield urllib.parse.urlunsplit(parts._replace(path=path))


def cleaned(reference):
    """A reference as the URL standard of the WHATWG reads it, which Python's parser predates: white space
    around it and line breaks within do not count, and a backslash of the path is a slash."""
    path, *rest = re.split("(?=[?#])", reference.strip(), maxsplit=1)
    return re.sub("[\\t\\r\\n]", "", path.replace("\\", "/") + "".join(rest))


def walk(root):
    """Every URL that can be reached from the root, what the server says to it, and how many pages link to
    it."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(root).netloc, timeout=30)
    seen, queue = {}, collections.deque([root])
    referrers = collections.Counter()
    while queue:
        url = queue.popleft()
        parts = urllib.parse.urlsplit(url)
        target = parts.path + ("?" + parts.query if parts.query else "")
        connection.request("GET", target, headers={"User-Agent": AGENT})
        answer = connection.getresponse()
        body = answer.read()
        document = Document()
        if answer.headers.get_content_type() == "text/html":
            document.feed(body.decode("utf-8", "replace"))
            document.close()
            pages = set(document.pages(url))
            queue.extend(sorted(page for page in pages if page not in referrers and page != root))
            referrers.update(pages)
        # The crawler reads the pages of a site, not its error messages.
        title = document.title if answer.status == 200 else None
        title = " ".join((title or "").split()) or None
        seen[url] = Seen(answer.status, len(body), title)
    return seen, referrers


def recorded(folder):
    """What the crawl recorded, and the URLs that stand there more than once."""
    seen, twice = {}, []
    for line in (folder / "urls.jsonl").read_text("utf-8").split("\n")[:-1]:
        record = json.loads(line)
        # The crawler asks for a sitemap of its own accord; no page leads there.
        if record["kind"] == "sitemap-file":
            continue
        if record["url"] in seen:
            twice.append(record["url"])
        seen[record["url"]] = Seen(record.get("status"), record["body_bytes"], record.get("title"))
    return seen, twice


def reported(report):
    """The broken URLs of the report, with their status and the number of pages that link there."""
    rows = json.loads(report.read_text("utf-8"))["broken"]
    return {row["url"]: (row.get("status"), row["referrer_count"]) for row in rows}


def asked(access_log, root):
    """How often the crawler asked the server for each URL."""
    counts = collections.Counter()
    for line in access_log.read_text("utf-8").split("\n")[:-1]:
        path, agent = line.split(" ", 1)
        if agent != AGENT and path not in ("/robots.txt", "/sitemap.xml"):
            counts[urllib.parse.urljoin(root, path)] += 1
    return counts


def unequal(expected, found):
    """One row for each URL on which two witnesses differ."""
    return [
        f"{url}: expected {expected.get(url)}, found {found.get(url)}"
        for url in sorted(expected.keys() | found.keys())
        if expected.get(url) != found.get(url)
    ]


def main():
    root, folder, report, access_log = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    crawled, twice = recorded(folder)
    walked, referrers = walk(root)
    broken = {
        url: (page.status, referrers[url]) for url, page in walked.items() if page.status >= 400
    }
    # After the walk, because the server writes a line only when it has sent the answer.
    counts = asked(access_log, root)
    print(f"walked {len(walked)} URLs, {len(broken)} broken, {sum(referrers.values())} links; "
          f"recorded {len(crawled)}; asked {sum(counts.values())} times")
    found = {
        "recorded twice": twice,
        "recorded otherwise than walked": unequal(walked, crawled),
        "reported otherwise than broken": unequal(broken, reported(report)),
        "not asked for exactly once": unequal(dict.fromkeys(walked, 1), counts),
    }
    for name, rows in found.items():
        if rows:
            print(f"{name}: {len(rows)}", *rows[:SHOWN], sep="\n  ")
    if len(walked) < 500 or not broken:
        sys.exit("the site is too small to prove anything")
    if any(found.values()):
        sys.exit("the crawl and the walk do not agree")


if __name__ == "__main__":
    main()
