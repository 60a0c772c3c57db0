"""The command inside the wheel."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import clewline

PROGRAM = pathlib.Path(sys.executable).with_name("clewline")


def run(*arguments, **options):
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=120, **options
    )


def test_it_is_there():
    assert run("--version").stdout.startswith("clewline ")
    as_module = [sys.executable, "-m", "clewline", "--version"]
    assert subprocess.run(as_module, capture_output=True, text=True).stdout == run("--version").stdout


def test_a_crawl_and_its_exit_codes(small, tmp_path):
    done = run(small.url, "-o", "x.crawl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.crawl" / "urls.jsonl").is_file()
    assert run(small.url, "--no-output", "--fail-on", "broken", cwd=tmp_path).returncode == 1
    wrong = run(small.url, "--max-pages", "many", cwd=tmp_path)
    assert wrong.returncode == 2 and "--max-pages" in wrong.stderr
    again = run(small.url, "-o", "x.crawl", cwd=tmp_path)
    assert again.returncode == 2
    assert f"clewline {small.url} -o x.crawl" not in again.stdout
    assert f"clewline {small.url}" in again.stderr, "the hint repeats what was typed, without Python"


def test_stream(small, tmp_path):
    done = run(small.url, "--no-output", "--stream", "jsonl", cwd=tmp_path)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    by_url = {record["url"]: record for record in records}
    assert by_url[f"{small.url}/a"]["title"] == "Apples"
    assert f"{small.url}/missing" in by_url


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_control_c_ends_it_politely(site, tmp_path):
    site.page("/", "Home", ["/slow"])
    site.page("/slow", "Slow")
    command = [PROGRAM, site.url, "--stream", "jsonl", "-o", "x.crawl"]
    child = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while "/slow" not in site.hits:
        os.sched_yield()
    child.send_signal(signal.SIGINT)
    for line in child.stderr:
        if line.startswith("stopping"):
            break
    site.gate.set()
    out, err = child.communicate(timeout=120)
    assert child.returncode in (0, 130), err
    assert "KeyboardInterrupt" not in err
    assert len(list(clewline.open(tmp_path / "x.crawl").pages())) == 2
