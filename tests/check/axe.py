#!/usr/bin/env python3
"""Compares the accessibility marks of the checker with axe-core in Chromium.

    npm pack axe-core && tar xf axe-core-*.tgz package/axe.min.js
    cargo build --profile ci -p clewline-check --example marks
    tests/check/axe.py --marks target/ci/examples/marks --axe package/axe.min.js PAGE.html ...

Every page is opened as a file of its own; a script behind it runs axe-core with the rules that the
checker has, and writes how often each fires. A page and a rule agree if both fire or neither does.
Prints each disagreement and a table by rule; exits 1 if there is a disagreement that the page
docs/check-accessibility.md does not name by `path rule`."""

import argparse
import base64
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

RULES = """image-alt input-image-alt area-alt link-name button-name label select-name html-has-lang
html-lang-valid document-title frame-title meta-refresh meta-viewport duplicate-id-aria aria-roles
aria-valid-attr list listitem dlitem td-headers-attr tabindex landmark-one-main heading-order
empty-heading""".split()

RUN = """
<script src="%s"></script>
<script>
const written = value => 'AXE' + btoa(unescape(encodeURIComponent(JSON.stringify(value)))) + 'EXA';
window.addEventListener('load', async () => {
  const told = document.createElement('pre');
  try {
    const runOnly = {type: 'rule', values: %s};
    const found = await axe.run(document, {runOnly, iframes: false, resultTypes: ['violations']});
    const counts = {};
    for (const one of found.violations) counts[one.id] = one.nodes.map(node => node.html.slice(0, 150));
    told.textContent = written(counts);
  } catch (error) { told.textContent = written({error: [String(error)]}); }
  document.documentElement.append(told);
});
</script>
"""


def by_axe(chromium, axe, page, folder):
    text = pathlib.Path(page).read_bytes().decode("utf-8", "replace")
    # The scripts of a page make elements that no reader without a browser can see.
    text = re.sub(r"(?is)<script\b(?![^>]*ld\+json).*?</script\s*>", "", text)
    # A refresh would leave the page before it is looked at.
    copy = pathlib.Path(folder) / (re.sub(r"\W+", "_", page)[-150:] + ".html")
    copy.write_text(text + RUN % (axe, json.dumps(RULES)), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--virtual-time-budget=20000", "--dump-dom",
             "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/{copy.stem}.profile"]
    done = subprocess.run([chromium, *flags, copy.as_uri()], capture_output=True, timeout=120)
    told = re.search(rb"AXE([A-Za-z0-9+/=]+)EXA</pre>", done.stdout)
    return page, json.loads(base64.b64decode(told.group(1))) if told else None


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--marks", required=True)
    asked.add_argument("--axe", required=True)
    asked.add_argument("--chromium", default="chromium")
    asked.add_argument("--known", default="docs/check-accessibility.md")
    asked.add_argument("pages", nargs="+")
    asked = asked.parse_args()
    axe = pathlib.Path(asked.axe).resolve().as_uri()
    known = pathlib.Path(asked.known)
    known = known.read_text() if known.exists() else ""
    ours = collections.defaultdict(dict)
    marks = subprocess.run([asked.marks, *asked.pages], capture_output=True, check=True, text=True)
    for line in marks.stdout.splitlines():
        page, rule, count = line.split("\t")
        ours[page][rule] = int(count)
    agree, differ, unread = collections.Counter(), [], []
    fired = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(by_axe, asked.chromium, axe, page, folder) for page in asked.pages]
        for job in jobs:
            page, theirs = job.result()
            if theirs is None or "error" in theirs:
                unread.append((page, theirs))
                continue
            for rule in RULES:
                one, other = ours[page].get(rule, 0), len(theirs.get(rule, []))
                fired[rule] += other > 0
                if (one > 0) == (other > 0):
                    agree[rule] += 1
                else:
                    differ.append((page, rule, one, theirs.get(rule, [])[:2]))
    for page, rule, one, theirs in differ:
        print(f"{page} {rule}: ours {one}, axe {theirs}")
    for page, why in unread:
        print(f"{page}: axe did not run: {why}")
    by_rule = collections.Counter(rule for _, rule, *_ in differ)
    print(f"{len(asked.pages) - len(unread)} pages, {sum(agree.values())} verdicts equal, {len(differ)} differ")
    for rule in RULES:
        print(f"  {rule:20} axe fires on {fired[rule]:4} pages, {by_rule[rule]:3} differ")
    unknown = [one for one in differ if f"{one[0]} {one[1]}" not in known]
    sys.exit(bool(unknown))


main()
