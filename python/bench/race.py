"""Pages per second on a documentation site: Python, the Rust library, and Scrapy, in one run.

The pages of Debian's openjdk-17-doc are served by nginx on loopback. Each side fetches every page, reads
its title and its links, follows them, and keeps nothing. Usage, with the wheel and Scrapy installed:

    python race.py [--folder FOLDER] [--rounds 5] [--pages N] [--scrapy-pages N] [--library PROGRAM]

FOLDER is the root of the site. PROGRAM does the same with the Rust library: `library_pages` of
`cargo build --release -p bench-client`. The last line is the result as JSON; `cargo xtask python-race`
builds what is raced, and reads that line.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

from nginx import serving

DOCS = "/usr/share/doc/openjdk-17-jre-headless/api"
CLEWLINE = """
import sys, clewline
count = 0
for page in clewline.crawl(sys.argv[1], speed="max", no_sitemaps=True, max_pages=sys.argv[2]):
    page.title, page.links
    count += 1
print(count)
"""
SCRAPY = """
import sys, scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
count = 0
class Docs(CrawlSpider):
    name = "docs"
    start_urls = [sys.argv[1]]
    allowed_domains = ["127.0.0.1"]
    rules = [Rule(LinkExtractor(), callback="read", follow=True)]
    def read(self, response):
        global count
        if hasattr(response, "css"):
            response.css("title::text").get()
        count += 1
process = CrawlerProcess({"LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64, "ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0, "CLOSESPIDER_PAGECOUNT": int(sys.argv[2])})
process.crawl(Docs)
process.start()
print(count)
"""


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(command: list[str]) -> tuple[int, float, float]:
    """Pages, seconds by the clock, and seconds of processors."""
    began, used = time.monotonic(), processor_seconds()
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    took = time.monotonic() - began
    lines = out.split()
    pages = int(lines[-1]) if len(lines) == 1 else len(out.splitlines())
    return pages, took, processor_seconds() - used


def run(name: str, command: list[str]) -> tuple[int, float, float]:
    """Pages, and pages per second of the clock and of a processor; the last holds on a busy machine, too."""
    pages, took, used = measure(command)
    print(
        f"{name:<24} {pages:>7} pages {pages / took:>9.0f} pages/s"
        f" {used / pages * 1e6:>9.0f} µs of processor time a page",
        flush=True,
    )
    return pages, pages / took, pages / used


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=DOCS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", default="1000000")
    parser.add_argument("--scrapy-pages", help="how many of the pages Scrapy fetches [default: all]")
    parser.add_argument("--library", help="a program that does the same with the Rust library")
    options = parser.parse_args()
    with serving(f"root {options.folder};") as root:
        url = f"{root}index.html"
        sides = {"clewline (Python)": [sys.executable, "-c", CLEWLINE, url, options.pages]}
        if options.library:
            sides["clewline (Rust library)"] = [options.library, url, options.pages]
        runs: dict[str, list[tuple[int, float, float]]] = {name: [] for name in sides}
        # In turn, so that whatever else the machine does meets all of them.
        for _ in range(options.rounds):
            for name, command in sides.items():
                runs[name].append(run(name, command))
        # Scrapy takes minutes, and once is enough to see a factor of twenty.
        most = options.scrapy_pages or options.pages
        runs["Scrapy"] = [run("Scrapy", [sys.executable, "-c", SCRAPY, url, most])]
    rows = [
        {
            "name": name,
            "pages": statistics.median(pages for pages, _, _ in of),
            "per_second": statistics.median(clock for _, clock, _ in of),
            "per_processor_second": statistics.median(processor for _, _, processor in of),
        }
        for name, of in runs.items()
    ]
    print("result:", json.dumps({"rounds": options.rounds, "rows": rows}))


if __name__ == "__main__":
    main()
