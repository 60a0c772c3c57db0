"""Looks at every page that we make, as people with and without good eyes do.

    screens.py BROWSER FOLDER AXE all|few [PART]
    screens.py BROWSER FOLDER AXE save PICTURES

FOLDER holds sample pages; those whose name has PART in it are looked at, all without it. Each is
served on loopback and opened at three widths, light and dark, or in a few of these windows. It must
be silent, ask nobody else, not scroll sideways, and axe-core (the script AXE) must find no violation.
The pictures are left in FOLDER/shots, and FOLDER/sheet.html shows them all. `save` takes those of the
documentation and leaves them in PICTURES.
"""

import contextlib
import functools
import html
import http.server
import pathlib
import sys
import threading

from playwright.sync_api import sync_playwright

WIDTHS = [(390, 844), (1280, 800), (1920, 1080)]
ALL = [(size, scheme) for size in WIDTHS for scheme in ("light", "dark")]
# Each width that axe-core judges, and each scheme, once.
FEW = [(WIDTHS[0], "light"), (WIDTHS[1], "dark")]
# The pictures of the documentation: of which sample, and light or dark.
PICTURES = {
    "app": ("app-overview-many", "dark"),
    "captures": ("app-calendar-many", "light"),
    "check": ("few", "light"),
    "report": ("report-many", "light"),
}
# Taller pages are cut in the picture.
TALLEST = 1600
AXE = """() => axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(
  one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(' | ')}`))"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        # Browsers ask for it where a page names no icon.
        if self.path == "/favicon.ico":
            self.send_response(204)
            return self.end_headers()
        super().do_GET()

    def log_message(self, *_):
        pass


def look(context, root, page, axe, shots, judged):
    """Opens one page in one window; returns what is wrong."""
    name, size, scheme = judged
    window = context.new_page()
    wrong = []
    window.on("console", lambda message: wrong.append(f"console: {message.text}"))
    window.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    window.on(
        "request",
        lambda request: request.url.startswith((root, "data:")) or wrong.append(f"asks for {request.url}"),
    )
    window.goto(f"{root}/{page.name}", wait_until="load")
    wide = window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        wrong.append(f"scrolls sideways by {wide}")
    height = window.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": size[0], "height": max(size[1], min(height, TALLEST))}
    shot = shots / f"{name}-{size[0]}-{scheme}.jpg"
    window.screenshot(path=shot, clip=clip, full_page=True, type="jpeg", quality=70)
    if size[0] != 1920:
        window.evaluate(axe)
        wrong += [f"axe: {one}" for one in window.evaluate(AXE)]
    window.close()
    return wrong


def sheet(folder, pages, windows):
    rows = []
    for page in pages:
        shots = "".join(
            f'<a href="shots/{page.stem}-{width}-{scheme}.jpg">'
            f'<img src="shots/{page.stem}-{width}-{scheme}.jpg" alt="{width} {scheme}" height=360 loading=lazy></a> '
            for (width, _), scheme in windows
        )
        rows.append(f"<h2>{html.escape(page.stem)}</h2><p>{shots}</p>")
    text = "<!doctype html><html lang=en><meta charset=utf-8><title>Contact sheet</title>" + "\n".join(rows)
    (folder / "sheet.html").write_text(text, encoding="utf-8")


@contextlib.contextmanager
def served(folder):
    """Serves the samples; gives their address."""
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def opened(chromium, size, scheme):
    viewport = {"width": size[0], "height": size[1]}
    context = chromium.new_context(viewport=viewport, color_scheme=scheme)
    context.set_default_timeout(120_000)
    return context


def save(chromium, root, pictures):
    """Takes the pictures of the documentation."""
    for name, (page, scheme) in PICTURES.items():
        context = opened(chromium, WIDTHS[1], scheme)
        window = context.new_page()
        window.goto(f"{root}/{page}.html", wait_until="load")
        window.screenshot(path=pathlib.Path(pictures) / f"{name}.png")
        context.close()


def judge(chromium, root, folder, axe, windows, part):
    """Looks at all pages in all windows; says how much is wrong."""
    windows = {"all": ALL, "few": FEW}[windows]
    axe = pathlib.Path(axe).read_text(encoding="utf-8")
    shots = folder / "shots"
    shots.mkdir(exist_ok=True)
    every = sorted(page for page in folder.glob("*.html") if page.name != "sheet.html")
    pages = [page for page in every if part in page.name]
    assert pages, f"there is no sample in {folder}"
    bad = 0
    for size, scheme in windows:
        context = opened(chromium, size, scheme)
        for page in pages:
            for one in look(context, root, page, axe, shots, (page.stem, size, scheme)):
                bad += 1
                print(f"{page.stem} at {size[0]} {scheme}: {one}", flush=True)
        context.close()
    sheet(folder, every, windows)
    print(f"{len(pages)} pages, {len(pages) * len(windows)} pictures, {bad} complaints")
    return bad


def main(browser, folder, axe, windows, rest=""):
    folder = pathlib.Path(folder).resolve()
    with served(folder) as root, sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        if windows == "save":
            bad = save(chromium, root, rest)
        else:
            bad = judge(chromium, root, folder, axe, windows, rest)
        chromium.close()
    sys.exit(bool(bad))


if __name__ == "__main__":
    main(*sys.argv[1:])
