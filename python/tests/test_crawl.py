"""A crawl as an iterator: for, async for, and what readers may say meanwhile."""

from __future__ import annotations

import asyncio
import gc
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import clewline

ALL = ["/", "/a", "/a/below", "/b", "/missing"]


def paths(site, urls):
    return sorted(url[len(site.url):] for url in urls)


def test_plain_for(small):
    crawl = clewline.crawl(small.url)
    pages = {page.url[len(small.url):]: page for page in crawl}
    assert sorted(pages) == ALL
    page = pages["/a"]
    assert (page.status, page.title) == (200, "Apples")
    assert page.html == small.pages["/a"]
    assert page.body == small.pages["/a"].encode()
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "Apples keep well in a cool cellar." in page.text
    assert page.markdown.startswith("# Apples\n")
    assert page.links == [f"{small.url}/a/below"]
    [heading] = page.select("h1")
    assert (heading.name, heading.text, heading.html) == ("h1", "Apples", "<h1>Apples</h1>")
    assert page.select("a")[0].attributes == {"href": "/a/below"}
    assert page.record["depth"] == 1 and page.record["outcome"] == "fetched"
    assert pages["/missing"].status == 404
    assert crawl.report["tally"]["statuses"]["404"] >= 1
    assert list(crawl) == [], "a crawl that has ended has no more pages"


def test_text_that_is_no_html(site):
    site.pages["/"] = '<a href="/note.txt">note</a>'
    site.pages["/note.txt"] = "1 < 2 & <b>"
    pages = {page.url: page for page in clewline.crawl(site.url)}
    note = pages[f"{site.url}/note.txt"]
    assert note.text == note.html == "1 < 2 & <b>"
    assert note.markdown == ""


def test_async_for(small):
    async def read():
        return [page.url async for page in clewline.crawl(small.url)]

    assert paths(small, asyncio.run(read())) == ALL


def test_async_for_lets_other_tasks_run(site):
    site.page("/", "Home", [f"/{number}" for number in range(200)])
    for number in range(200):
        site.page(f"/{number}", str(number))

    async def read():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(tick())
        count = 0
        async for _ in clewline.crawl(site.url, speed="max"):
            count += 1
        task.cancel()
        return count, ticks

    count, ticks = asyncio.run(read())
    assert count == 201
    assert ticks >= 201 // 8


def test_plain_for_inside_a_running_loop(small):
    async def cell():
        return [page.url for page in clewline.crawl(small.url)]

    assert paths(small, asyncio.run(cell())) == ALL


def test_a_cancelled_wait_loses_no_page(small):
    small.page("/", "Home", ["/slow", "/a"])
    small.page("/slow", "Slow")

    async def read():
        crawl = clewline.crawl(small.url)
        seen = []
        while True:
            try:
                page = await asyncio.wait_for(crawl.__anext__(), 0.05)
            except asyncio.TimeoutError:
                small.gate.set()
            except StopAsyncIteration:
                return seen
            else:
                seen.append(page.url)

    assert paths(small, asyncio.run(read())) == ["/", "/a", "/a/below", "/slow"]


def test_max_pages_and_patterns(small):
    assert len(list(clewline.crawl(small.url, max_pages=2))) == 2
    urls = [page.url for page in clewline.crawl(small.url, exclude=["/a", "/missing"])]
    assert paths(small, urls) == ["/", "/b"]
    assert [page.url for page in clewline.crawl(f"{small.url}/b", depth=0)] == [f"{small.url}/b"]


def test_skip_links(small):
    crawl = clewline.crawl(small.url)
    seen = []
    for page in crawl:
        seen.append(page)
        if page.title == "Apples":
            page.skip_links()
    assert paths(small, [page.url for page in seen]) == ["/", "/a", "/b", "/missing"]
    assert "/a/below" not in small.hits
    home = next(page for page in seen if page.title == "Home")
    with pytest.raises(ValueError, match="before asking for the next page"):
        home.skip_links()


def test_add(small):
    small.page("/island", "Island", ["/island/beach"])
    small.page("/island/beach", "Beach")
    crawl = clewline.crawl(small.url)
    seen = []
    for page in crawl:
        seen.append(page.url)
        # The crawl waits for the reader of a page that was fetched, even if nothing else is left.
        if page.url.endswith("/a/below"):
            assert crawl.add(f"{small.url}/island") is True
            assert crawl.add(f"{small.url}/a") is False
    assert paths(small, seen) == sorted([*ALL, "/island", "/island/beach"])
    with pytest.raises(clewline.SettingsError, match="ended"):
        crawl.add(small.url)


def test_several_roots(small):
    urls = [page.url for page in clewline.crawl(f"{small.url}/a", f"{small.url}/b", depth=0)]
    assert paths(small, urls) == ["/a", "/b"]


def test_settings_are_explained(small):
    with pytest.raises(clewline.SettingsError) as caught:
        clewline.crawl(small.url, max_pagse=3, tries="many")
    error = caught.value
    assert "max_pagse: is not a setting" in error.message
    assert "tries: " in error.message
    assert "did you mean max_pages?" in error.hints
    assert "hint: did you mean max_pages?" in str(error)
    assert isinstance(error, ValueError) and isinstance(error, clewline.ClewlineError)
    with pytest.raises(clewline.SettingsError, match="not-a-url"):
        clewline.crawl("ftp://not-a-url")
    with pytest.raises(TypeError, match="max_pages"):
        clewline.crawl(small.url, max_pages=object())


def test_settings_that_are_none_are_not_given(small):
    assert len(list(clewline.crawl(small.url, max_pages=None, depth=None))) == len(ALL)


def test_nobody_listens():
    with pytest.raises(clewline.UnreachedError) as caught:
        list(clewline.crawl("http://127.0.0.1:9", tries=1))
    assert "was not reached" in str(caught.value)
    assert any("check that a server listens there" in hint for hint in caught.value.hints)


def test_a_bad_selector(small):
    page = next(clewline.crawl(small.url))
    with pytest.raises(clewline.QueryError):
        page.select("h1[")


def threads_of_crawls():
    names = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            names.append((task / "comm").read_text().strip())
        except OSError:
            pass
    return [name for name in names if name.startswith(("clewline", "tokio", "await"))]


def wait_until(holds):
    for _ in range(2400):
        if holds():
            return True
        time.sleep(0.025)
    return False


@pytest.mark.skipif(not pathlib.Path("/proc/self/task").exists(), reason="counts threads in /proc")
def test_dropping_stops_the_crawl(site):
    site.page("/", "Home", [f"/slow{number}" for number in range(20)])
    crawl = clewline.crawl(site.url)
    next(crawl)
    assert threads_of_crawls()
    del crawl
    gc.collect()
    assert wait_until(lambda: not threads_of_crawls())


def test_closing_frees_the_folder(small, tmp_path):
    folder = tmp_path / "x.crawl"
    with clewline.crawl(small.url, output=folder) as crawl:
        next(crawl)
        with pytest.raises(clewline.JobError) as caught:
            clewline.crawl(small.url, output=folder)
        assert caught.value.hints
    assert list(crawl) == []
    rest = [page.url for page in clewline.crawl(small.url, output=folder)]
    assert len(rest) == len(ALL) - 1, "the same call goes on where the other was closed"


def test_other_threads_run_while_a_page_is_awaited(site):
    site.page("/slow", "Slow")
    site.page("/", "Home", ["/slow"])
    opened = threading.Event()

    def open_the_gate():
        # Runs only if whoever waits for the page does not hold the interpreter.
        opened.set()
        site.gate.set()

    crawl = clewline.crawl(site.url)
    next(crawl)
    timer = threading.Timer(0.05, open_the_gate)
    timer.start()
    assert next(crawl).title == "Slow"
    assert opened.is_set()


PLAIN = """
import sys, clewline
crawl = clewline.crawl(sys.argv[1])
try:
    for page in crawl:
        print("page", flush=True)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""

ASYNC = """
import asyncio, sys, clewline
async def main():
    try:
        async for page in clewline.crawl(sys.argv[1]):
            print("page", flush=True)
    except asyncio.CancelledError:
        print("stopped", flush=True)
        raise
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize("program", [PLAIN, ASYNC], ids=["for", "async for"])
def test_control_c(site, program):
    if program is ASYNC and sys.version_info < (3, 11):
        pytest.skip("asyncio cancels the main task on Ctrl-C from 3.11 on")
    site.page("/", "Home", ["/slow"])
    command = [sys.executable, "-c", program, site.url]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "page\n"
    assert wait_until(lambda: "/slow" in site.hits)
    child.send_signal(signal.SIGINT)
    # The gate stays shut: only the signal can end the wait.
    assert child.stdout.readline() == "stopped\n"
    child.stdout.read()
    assert child.wait(60) == 0
