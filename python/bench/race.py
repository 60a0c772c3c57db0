"""Pages per second on a documentation site: Python, the Rust library, and Scrapy, in one run.

The pages of Debian's openjdk-17-doc are served by nginx on loopback. Each side fetches every page, reads
its title and its links, follows them, and keeps nothing. Usage, with the wheel and Scrapy installed:

    python race.py [--folder FOLDER] [--rounds 3] [--pages N] [--library PROGRAM]

FOLDER is the root of the site. PROGRAM does the same with the Rust library: `library_pages` of
`cargo build --profile dist -p bench-client`.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

DOCS = "/usr/share/doc/openjdk-17-jre-headless/api"
CONF = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{ include /etc/nginx/mime.types; default_type text/html; access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; root {root}; keepalive_requests 1000000; }} }}"""
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


def serve(root: str, folder: str) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    conf = pathlib.Path(folder) / "nginx.conf"
    conf.write_text(CONF.format(folder=folder, port=port, root=root))
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    server = subprocess.Popen([nginx, "-c", str(conf), "-e", f"{folder}/start.log"])
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server, f"http://127.0.0.1:{port}/index.html"
        time.sleep(0.01)
    raise SystemExit("nginx does not listen")


def measure(command: list[str]) -> tuple[int, float]:
    began = time.monotonic()
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    took = time.monotonic() - began
    lines = out.split()
    pages = int(lines[-1]) if len(lines) == 1 else len(out.splitlines())
    return pages, took


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=DOCS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", default="1000000")
    parser.add_argument("--library", help="a program that does the same with the Rust library")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server, url = serve(options.folder, folder)
        sides = {
            "clewline (Python)": [sys.executable, "-c", CLEWLINE, url, options.pages],
            "Scrapy": [sys.executable, "-c", SCRAPY, url, options.pages],
        }
        if options.library:
            sides["clewline (Rust library)"] = [options.library, url, options.pages]
        try:
            for name, command in sides.items():
                runs = [measure(command) for _ in range(options.rounds)]
                rates = [pages / took for pages, took in runs]
                print(f"{name:<24} {runs[0][0]:>7} pages {statistics.median(rates):>9.0f} pages/s")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
