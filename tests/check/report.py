"""Opens reports of sites in Chromium, and uses them.

    report.py BROWSER FOLDER

FOLDER holds `none.html`, `few.html`, `hostile.html` and `many.html`. Each is opened at three widths,
light and dark, with and without scripts. Pictures of all are left beside them.
"""

import json
import pathlib
import re
import sys

from playwright.sync_api import sync_playwright

WIDTHS = [(390, 844), (1280, 800), (1920, 1080)]
SAMPLES = ["none", "few", "hostile", "many"]


def data(text, name):
    found = re.search(f"<script type=application/json id={name}>(.*?)</script>", text, re.S)
    return json.loads(found[1]) if found else None


class Reader:
    """A window that remembers what the browser complained of and asked for."""

    def __init__(self, browser, folder, size, scheme="light", scripts=True):
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, java_script_enabled=scripts
        )
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.folder = folder

    def open(self, name):
        self.page.goto((self.folder / f"{name}.html").as_uri())
        return self.page

    def close(self):
        assert self.complaints == [], self.complaints[:3]
        assert all(url.startswith("file:") for url in self.requests), self.requests
        assert len(self.requests) == 1, self.requests
        self.context.close()


def looks(browser, folder):
    for size in WIDTHS:
        for scheme in ["light", "dark"]:
            for name in SAMPLES:
                reader = Reader(browser, folder, size, scheme)
                page = reader.open(name)
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, (name, size, wide)
                nodes = page.evaluate("document.querySelectorAll('*').length")
                assert nodes < 6000, (name, nodes)
                page.screenshot(path=folder / f"{name}-{size[0]}-{scheme}.png")
                page.evaluate("document.getElementById('pages').scrollIntoView()")
                page.screenshot(path=folder / f"{name}-{size[0]}-{scheme}-pages.png")
                reader.close()


def without_scripts(browser, folder):
    reader = Reader(browser, folder, WIDTHS[1], scripts=False)
    text = reader.open("few").inner_text("main")
    for wanted in ["3 links are dead on 5 pages", "/gone", "404 Not Found", "line 12", "About us", "/old"]:
        assert wanted in text, (wanted, text)
    reader.close()


def number(text):
    return int(re.sub(r"\D", "", text))


def issues(browser, folder):
    reader = Reader(browser, folder, WIDTHS[1])
    page = reader.open("many")
    found = data((folder / "many.html").read_text(), "findings")
    rows, rules, texts = found["rows"], found["rules"], found["texts"]
    shown = lambda: number(page.inner_text("#shown"))
    settled = lambda wanted: page.wait_for_function(
        "wanted => Number(document.getElementById('shown').textContent.replace(/\\D/g, '')) === wanted", arg=wanted
    )
    assert shown() == sum(row[7] for row in rows)
    page.uncheck("[name=severity][value=error]")
    settled(sum(row[7] for row in rows if rules[row[0]][1] != "error"))
    page.check("[name=severity][value=error]")
    page.select_option("#rule", "1")
    settled(sum(row[7] for row in rows if row[0] == 1))
    page.select_option("#rule", "")
    page.fill("#find", "/section-3/ gone.example/6")
    wanted = sum(row[7] for row in rows if "/section-3/" in texts[row[1]] and "gone.example/6" in texts[row[2]])
    settled(wanted)
    assert wanted > 0
    page.fill("#find", "")
    settled(sum(row[7] for row in rows))
    page.select_option("#by", "page")
    first = page.locator("#list h3").first.inner_text()
    assert "https://example.com/section-" in first, first
    page.select_option("#by", "rule")
    # More comes as the reader scrolls, and only then.
    before = page.locator("#list .entry").count()
    page.evaluate("document.getElementById('rest').scrollIntoView()")
    page.wait_for_function("before => document.querySelectorAll('#list .entry').length > before", arg=before)
    # A target that many pages link to shows them in steps, by the keyboard as well.
    more = page.locator("#list .places button").first
    entry = page.locator("#list .entry:has(.places button)").first
    places = entry.locator(".places li").count()
    more.focus()
    page.keyboard.press("Enter")
    assert entry.locator(".places li").count() > places
    assert page.evaluate("document.activeElement.closest('.places') !== null")
    page.fill("#find", "nothing has this in it")
    settled(0)
    assert "No finding matches" in page.inner_text("#rest")
    reader.close()


def table(browser, folder):
    reader = Reader(browser, folder, WIDTHS[1])
    page = reader.open("many")
    rows = data((folder / "many.html").read_text(), "rows")
    drawn = lambda: page.locator("#window tbody tr:not(.space)").count()
    assert number(page.inner_text("#page-shown")) == len(rows)
    assert drawn() < 100
    height = page.evaluate("document.querySelector('#window table').getBoundingClientRect().height")
    assert abs(height - 36 * len(rows)) < 200, (height, len(rows))
    # To the end by the keyboard.
    page.focus("#window")
    page.keyboard.press("End")
    last = rows[-1][1]
    page.wait_for_function(
        "last => [...document.querySelectorAll('#window tbody tr a')].some((link) => link.href.endsWith(last))", arg=last
    )
    assert drawn() < 100
    page.click("#window th:nth-child(6) button")
    heaviest = max(rows, key=lambda row: row[6])
    first = page.locator("#window tbody tr:not(.space) a").first
    assert first.get_attribute("href").endswith(heaviest[1])
    page.fill("#page-find", "page 777")
    wanted = sum("777" in row[2] for row in rows)
    page.wait_for_function(
        "wanted => Number(document.getElementById('page-shown').textContent.replace(/\\D/g, '')) === wanted", arg=wanted
    )
    page.check("#page-issues")
    wanted = sum("777" in row[2] and row[4] > 0 for row in rows)
    assert number(page.inner_text("#page-shown")) == wanted
    reader.close()


def theme(browser, folder):
    reader = Reader(browser, folder, WIDTHS[1])
    page = reader.open("few")
    ground = lambda: page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = ground()
    page.select_option("#theme", "light")
    assert ground() == light, "automatic is light here, and so is light"
    page.select_option("#theme", "dark")
    assert ground() != light
    page.reload()
    assert ground() != light, "the choice is kept"
    reader.requests.pop()
    reader.close()


def main(browser, folder):
    folder = pathlib.Path(folder).resolve()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for trial in [without_scripts, issues, table, theme, looks]:
            trial(browser, folder)
            print(f"{trial.__name__}: ok", flush=True)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
