"""A crawl that is on disk."""

from __future__ import annotations

import sys

import pytest

import clewline


@pytest.fixture
def job(small, tmp_path):
    folder = tmp_path / "x.crawl"
    fetched = list(clewline.crawl(small.url, output=folder))
    return clewline.open(folder), fetched


def test_pages_are_those_that_were_fetched(job):
    stored, fetched = job
    by_url = {page.url: page for page in stored.pages()}
    assert sorted(by_url) == sorted(page.url for page in fetched)
    for page in fetched:
        kept = by_url[page.url]
        assert (kept.status, kept.title, kept.html) == (page.status, page.title, page.html)
        assert (kept.links, kept.markdown) == (page.links, page.markdown)
        assert kept.headers["content-type"] == page.headers["content-type"]
        before, after = page.record, kept.record
        before.pop("new_links"), after.pop("new_links")
        assert before == after


def test_stored_pages_take_no_orders(job):
    stored, _ = job
    with pytest.raises(ValueError):
        next(page for page in stored.pages() if page.status == 200).skip_links()


def test_iterators_can_be_dropped_early(job):
    stored, _ = job
    for _ in range(50):
        next(iter(stored.pages()))


def test_search(job, small):
    stored, _ = job
    hits = stored.search("cellar")
    assert {hit.url for hit in hits} == {f"{small.url}/a", f"{small.url}/a/below"}
    assert "cellar" in hits[0].snippet.lower()
    assert len(stored.search("cellar", 1)) == 1
    assert stored.search("zebra") == []
    with pytest.raises(clewline.QueryError):
        stored.search('"open')


def test_to_arrow(job, small):
    pytest.importorskip("pyarrow")
    stored, fetched = job
    table = stored.to_arrow()
    rows = {row["url"]: row for row in table.to_pylist()}
    for page in fetched:
        assert rows[page.url]["status"] == page.status
    assert stored.to_arrow("links").num_rows > 0
    with pytest.raises(ValueError, match="pages and links"):
        stored.to_arrow("items")


def test_to_arrow_without_pyarrow(job, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        job[0].to_arrow()


def test_what_is_no_job(tmp_path):
    with pytest.raises(clewline.JobError) as caught:
        clewline.open(tmp_path / "nothing.crawl")
    assert "a crawl makes one" in caught.value.hints[0]
