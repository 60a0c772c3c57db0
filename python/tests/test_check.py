"""Findings of a check as objects."""

from __future__ import annotations

import json

import pytest

import clewline


def dead(result):
    return [finding for finding in result if finding.rule == "links/broken"]


def test_a_site(small, tmp_path):
    result = clewline.check(small.url, no_output=True)
    assert (result.outcome, result.passed) == ("failed", False)
    (one,) = dead(result)
    assert one.severity == "error" and one.count == 1 and not one.known
    assert one.page == f"{small.url}/" and one.target == f"{small.url}/missing"
    assert "404" in one.evidence
    assert one.line == 1 and one.column == small.pages["/"].index("<a href=\"/missing") + 1
    assert one.record["fingerprint"] == one.fingerprint
    assert one.rule in repr(one) and "failed" in repr(result)
    assert len(result) == len(result.findings) > 0
    assert result.facts["subject"] == small.url


def test_settings_are_flags(small, tmp_path):
    without = clewline.check(small.url, no_output=True, skip=["links/broken", "a11y"])
    assert without.passed and not dead(without)
    assert not [finding for finding in without if finding.rule.startswith("a11y")]
    only = clewline.check(small.url, no_output=True, only="links/broken")
    assert {finding.rule for finding in only} == {"links/broken"}
    assert clewline.check(small.url, no_output=True, fail_on="never").passed


def test_a_folder_and_its_baseline(tmp_path):
    folder, known = tmp_path / "site", tmp_path / "known.json"
    folder.mkdir()
    (folder / "index.html").write_text("<title>Home</title>\n<a href=gone.html>gone</a>")
    first = clewline.check(folder, baseline=known, update_baseline=True)
    (one,) = dead(first)
    assert one.file.endswith("index.html") and one.line == 2
    assert json.loads(known.read_text())
    second = clewline.check(folder, baseline=known)
    assert second.passed and dead(second)[0].known
    assert dead(second)[0].fingerprint == one.fingerprint


def test_a_job(small, tmp_path):
    job = tmp_path / "x.crawl"
    for _ in clewline.crawl(small.url, output=job):
        pass
    asked = len(small.hits)
    assert len(dead(clewline.check(job))) == 1
    assert len(small.hits) == asked, "what was captured is not asked for again"


def test_errors(small, tmp_path):
    with pytest.raises(clewline.SettingsError):
        clewline.check()
    with pytest.raises(clewline.SettingsError, match="fail-on|sometimes"):
        clewline.check(small.url, no_output=True, fail_on="sometimes")
    with pytest.raises(clewline.SettingsError, match="no-such"):
        clewline.check(small.url, no_such=True)
    with pytest.raises(clewline.SettingsError, match="format"):
        clewline.check(small.url, format="csv")
    small.close()
    with pytest.raises(clewline.UnreachedError) as caught:
        clewline.check(small.url, no_output=True, tries=1)
    assert caught.value.message
