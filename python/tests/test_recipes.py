"""Every block of docs/python.md and of the READMEs runs, on a site of our own."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["docs/python.md", "README.md", "python/README.md"]
BLOCKS = [
    block
    for page in PAGES
    for block in re.findall(
        r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S
    )
]
LONGEST = 15
#: What a block prints about the small site.
SHOWS = ["Apples", "Boats", "links/broken", "cellar", "200", "missing", "anchor", "Apples", "Apples", "Apples"]
#: The same for the READMEs.
SHOWS += ["/a/below", "Apples"]


def test_there_is_something_to_run():
    assert len(BLOCKS) == len(SHOWS)


@pytest.mark.parametrize("block, shows", list(zip(BLOCKS, SHOWS)))
def test_block(small, tmp_path, block, shows):
    assert len([line for line in block.splitlines() if line.strip()]) <= LONGEST
    for line in re.findall(r"^(?:import|from) (.*)$", block, re.M):
        for name in re.findall(r"pandas|polars|duckdb|scrapy|langchain_core|llama_index", line):
            if importlib.util.find_spec(name) is None:
                pytest.skip(f"{name} is not installed")
    if "to_arrow" in block and importlib.util.find_spec("pyarrow") is None:
        pytest.skip("pyarrow is not installed")
    program = block.replace("https://example.com", small.url)
    assert program != block, "the example's site is replaced by ours"
    program = program.replace('"example domain"', '"cellar"')
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert shows in done.stdout, done.stdout
