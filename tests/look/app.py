"""Uses the app in Chromium as people do: start a crawl, watch, steer, search, replay, stop, delete.

    app.py BROWSER CLEWLINE FOLDER AXE

A slow site on loopback is crawled. Jobs lie in FOLDER/jobs, and pictures beside them. No page may write
to the console, break its policy, ask anybody but the server, or give axe-core (the script AXE) anything
to complain of.
"""

import http.server
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

from playwright.sync_api import sync_playwright

PAGES = 400
PAUSE = 0.05
# The longest that anything may take, in milliseconds.
LONGEST = 30_000
JUDGED = """() => axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(
  one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(' | ')}`))"""


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = re.fullmatch(r"/(?:(page|calendar)/(\d+))?", self.path)
        if not found:
            return self.answer(404, "<title>Gone</title><p>Not here.")
        time.sleep(PAUSE)
        number = int(found[2] or 0)
        targets = [f"/page/{number * 2 + 1}", f"/page/{number * 2 + 2}", f"/calendar/{number + 1}"]
        links = "".join(f'<a href="{one}">next</a> ' for one in targets if int(one.split("/")[-1]) < PAGES)
        title = f"Page {number} about orchids <script>alert(1)</script>".replace("<", "&lt;")
        words = f"<h1>Orchids</h1><p>Words about orchid {number}.</p>{links}"
        self.answer(200, f"<title>{title}</title><link rel=icon href=data:,><main>{words}</main>")

    def answer(self, status, text):
        body = ("<!doctype html><html lang=en><meta charset=utf-8>" + text).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(browser, clewline, folder, axe):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{site.server_port}/"
    axe = pathlib.Path(axe).read_text(encoding="utf-8")
    jobs = folder / "jobs"
    jobs.mkdir()
    command = [clewline, "serve", str(jobs), "--control", "--allow-private", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = next(re.search(r"http://\S+", line)[0] for line in server.stdout if "http://" in line)
        threading.Thread(target=server.stdout.read, daemon=True).start()
        with sync_playwright() as play:
            chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            context = chromium.new_context(viewport={"width": 1280, "height": 800})
            context.set_default_timeout(LONGEST)
            try:
                use(context, (address, root), folder, axe)
            except Exception:
                print(context.pages[0].url, context.pages[0].inner_text("body")[:2000], file=sys.stderr)
                raise
            chromium.close()
    finally:
        server.terminate()
        server.wait()
        site.shutdown()


def use(context, places, folder, axe):
    address, root = places
    page = context.new_page()
    origin = re.match(r"http://[^/]+", address)[0]
    wrong = []
    page.on("console", lambda message: wrong.append(f"{message.text} {message.location['url']}"))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    context.on(
        "request",
        lambda request: request.url.startswith((origin, "data:")) or wrong.append(f"asks for {request.url}"),
    )

    def until(happened):
        """Asks the page from outside: its policy lets no text become a script within it."""
        end = time.monotonic() + LONGEST / 1000
        while not page.evaluate(happened):
            assert time.monotonic() < end, f"not so: {happened}"
            page.wait_for_timeout(50)

    def step(name):
        page.screenshot(path=folder / f"{name}.png")
        page.evaluate(axe)
        wrong.extend(f"{name}: axe: {one}" for one in page.evaluate(JUDGED))
        print(f"{name}: ok", flush=True)

    page.goto(address)
    page.click("text=Start a crawl")
    page.fill("[name=url]", root)
    page.fill("[name=name]", "orchids")
    page.fill("[name=rate]", "5/s")
    step("start")
    page.click("button:has-text('Start')")
    page.wait_for_url(re.compile(r"/jobs/orchids/$"))
    until("document.querySelector('.badge')?.textContent === 'running'")
    number = "Number(document.querySelector('.cards dd').textContent.replace(/\\D/g, ''))"
    before = page.evaluate(number)
    until(f"{number} > {before}")
    step("watch")
    page.click("button:has-text('Pause')")
    until("document.querySelector('.badge')?.textContent === 'paused'")
    step("pause")
    page.fill("[name=pattern]", "/calendar/")
    page.click("button:has-text('See how many')")
    until("/queued URL/.test(document.querySelector('h1').textContent)")
    step("exclude")
    page.click("button:has-text('Leave them out')")
    page.wait_for_url(re.compile(r"/jobs/orchids/$"))
    page.click("button:has-text('Continue')")
    until("document.querySelector('.badge')?.textContent === 'running'")
    step("continue")
    for place in ["Issues", "Pages", "Hosts", "Captures"]:
        page.click(f".frame nav a:has-text('{place}')")
        until(f"document.querySelector('[aria-current]')?.textContent.startsWith('{place}')")
        step(place.lower())
    page.click(".rows tbody th a")
    until("document.querySelector('clewline-banner') !== null")
    step("replay")
    page.goto(f"{origin}/jobs/orchids/pages")
    page.click(".rows tbody th a")
    until("document.querySelector('.trail') !== null")
    step("why")
    page.goto(f"{origin}/jobs/orchids/")
    page.click("button:has-text('Stop')")
    until("!['running', 'stopping'].includes(document.querySelector('.badge')?.textContent)")
    step("stop")
    page.goto(f"{origin}/jobs/orchids/search?q=orchid")
    for _ in range(200):
        if page.locator("a.hit").count():
            break
        page.wait_for_timeout(100)
        page.reload()
    assert page.locator("a.hit").count(), page.inner_text("main")
    # An index in the making answers 503, which the console tells.
    wrong[:] = [one for one in wrong if "503" not in one]
    step("search")
    page.goto(f"{origin}/jobs/orchids/")
    page.click("a:has-text('Delete')")
    page.fill("[name=name]", "orchid")
    page.click("button:has-text('Delete')")
    until("document.querySelector('[role=alert]') !== null")
    page.fill("[name=name]", "orchids")
    page.click("button:has-text('Delete')")
    until("/no crawl/.test(document.querySelector('h1').textContent)")
    step("delete")
    # A refused form is an error to the console, too.
    wrong[:] = [one for one in wrong if "422" not in one]
    assert not wrong, wrong


if __name__ == "__main__":
    main(*sys.argv[1:])
