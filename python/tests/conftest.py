"""A small site on loopback, served by Python itself."""

from __future__ import annotations

import http.server
import threading
from typing import Dict, Iterator, List

import pytest


class Site:
    """Pages by path; ``hits`` has the paths that were asked for."""

    def __init__(self) -> None:
        self.pages: Dict[str, str] = {}
        self.hits: List[str] = []
        #: Answers wait for this if their path begins with /slow.
        self.gate = threading.Event()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.hits.append(self.path)
                if self.path.startswith("/slow"):
                    site.gate.wait(60)
                body = site.pages.get(self.path)
                status = 404 if body is None else 200
                data = (body or "missing").encode()
                self.send_response(status)
                kind = "text/plain" if self.path.endswith(".txt") else "text/html; charset=utf-8"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            # A crawl at full speed opens many connections at once; those beyond the queue would wait.
            request_queue_size = 256
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def page(self, path: str, title: str = "", links: "List[str] | tuple[str, ...]" = (), text: str = "") -> None:
        anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
        self.pages[path] = f"<title>{title}</title><h1>{title}</h1><p>{text}</p><p>{anchors}</p>"

    def close(self) -> None:
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def small(site: Site) -> Site:
    """A front page, two articles, one of which has a page below it, and a missing one."""
    site.page("/", "Home", ["/a", "/b", "/missing"], "Welcome to the harbour.")
    site.page("/a", "Apples", ["/a/below"], "Apples keep well in a cool cellar.")
    site.page("/a/below", "Cellar", ["/"], "A cellar is cool and dark.")
    site.page("/b", "Boats", ["/"], "Boats lie in the harbour.")
    return site
