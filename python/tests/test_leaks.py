"""A thousand starts and drops leave nothing behind."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import time

import pytest

import clewline

pytestmark = pytest.mark.skipif(
    not pathlib.Path("/proc/self/fd").exists(), reason="counts what /proc/self shows"
)


def held():
    threads = len(os.listdir("/proc/self/task"))
    descriptors = len(os.listdir("/proc/self/fd"))
    return threads, descriptors


def resident():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def settled(most):
    """Whether threads and descriptors come down to what they were; crawls end in their own time."""
    for _ in range(2400):
        gc.collect()
        now = held()
        if now[0] <= most[0] and now[1] <= most[1]:
            return True
        time.sleep(0.025)
    return False


def start_and_drop(site, times):
    for number in range(times):
        crawl = clewline.crawl(site.url)
        if number % 2:
            next(crawl)
        if number % 10 == 0:
            crawl.close()
        del crawl


def test_starts_and_drops(small):
    start_and_drop(small, 20)
    # The server of this process has a thread and a descriptor for each connection that is open.
    for _ in range(200):
        gc.collect()
        time.sleep(0.01)
    before, memory = held(), [resident()]
    for _ in range(10):
        start_and_drop(small, 100)
        assert settled((before[0] + 4, before[1] + 4)), (before, held())
        memory.append(resident())
    assert settled((before[0], before[1])), (before, held())
    assert memory[-1] - memory[0] < 64 * 1024 * 1024
    # What `cargo xtask python-race` reads, and nobody else sees.
    print("result:", json.dumps({"before": before, "after": held(), "resident": memory}))
