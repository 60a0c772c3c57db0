"""Whether the memory of a Python process stays flat while it reads 100,000 pages.

The site has one page for each number of five digits, with 20 KB of text, and nginx makes them up: page
12345 links to 23450 … 23459, so each page is reached within five steps. Usage, with the wheel installed:

    python flat.py

It prints what the process holds after each tenth, and fails if the last three tenths hold more than the
three after the first, and a sixteenth. The last line is the result as JSON.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys

import clewline
from nginx import serving

PAGES = 100_000
LINKS = "".join(f"<a href=/${{rest}}{digit}>{digit}</a>" for digit in range(10))
SITE = (
    f"set $words '{'lorem ipsum dolor ' * 100}';"
    r" location = / { return 302 /00000; }"
    r" location ~ ^/\d(?<rest>\d\d\d\d)$ {"
    f" return 200 '<title>$uri</title><p>{'$words' * 11}</p>{LINKS}'; }}"
)


def resident() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    held = []
    count = size = 0
    with serving(SITE) as url:
        for page in clewline.crawl(url, speed="max", no_sitemaps=True, no_trap_detection=True):
            if page.status != 200 or not page.title:
                continue
            size += len(page.html)
            count += len(page.links) == 10
            if count % (PAGES // 10) == 0:
                held.append(resident() / 2**20)
                print(f"{count:>7} pages  {size / 2**20:>6.0f} MB read  {held[-1]:>6.1f} MB held", flush=True)
    if count != PAGES:
        sys.exit(f"{count} pages came, {PAGES} are there")
    before, after = statistics.median(held[1:4]), statistics.median(held[-3:])
    print(f"{after / before:.3f} of what the second to the fourth tenth held")
    if after > before * 17 / 16:
        sys.exit("memory grows")
    print("result:", json.dumps({"pages": count, "held": held}))


if __name__ == "__main__":
    main()
