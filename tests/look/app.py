"""Uses the app in Chromium as people do: start a crawl, watch, steer, search, replay, stop, delete.

    app.py BROWSER CLEWLINE FOLDER

A slow site on loopback is crawled. Jobs lie in FOLDER, and pictures beside them. No page may write
to the console, break its policy, or ask anybody but the server.
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
        self.answer(200, f"<title>{title}</title><h1>Orchids</h1><p>Words about orchid {number}.</p>{links}")

    def answer(self, status, text):
        body = ("<!doctype html><html lang=en><meta charset=utf-8>" + text).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(browser, clewline, folder):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{site.server_port}/"
    command = [clewline, "serve", str(folder), "--control", "--allow-private", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = next(re.search(r"http://\S+", line)[0] for line in server.stdout if "http://" in line)
        threading.Thread(target=server.stdout.read, daemon=True).start()
        with sync_playwright() as play:
            chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            context = chromium.new_context(viewport={"width": 1280, "height": 800})
            use(context, address, root, folder)
            chromium.close()
    finally:
        server.terminate()
        server.wait()
        site.shutdown()


def use(context, address, root, folder):
    page = context.new_page()
    origin = re.match(r"http://[^/]+", address)[0]
    wrong = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    context.on(
        "request",
        lambda request: request.url.startswith((origin, "data:")) or wrong.append(f"asks for {request.url}"),
    )

    def step(name):
        page.screenshot(path=folder / f"{name}.png")
        print(f"{name}: ok", flush=True)

    page.goto(address)
    page.click("text=Start a crawl")
    page.fill("[name=url]", root)
    page.fill("[name=name]", "orchids")
    page.fill("[name=rate]", "5/s")
    step("start")
    page.click("button:has-text('Start')")
    page.wait_for_url(re.compile(r"/jobs/orchids/$"))
    page.wait_for_function("document.querySelector('.badge').textContent === 'running'")
    number = "Number(document.querySelector('.cards dd').textContent.replace(/\\D/g, ''))"
    before = page.evaluate(number)
    page.wait_for_function(f"before => {number} > before", arg=before)
    step("watch")
    page.click("button:has-text('Pause')")
    page.wait_for_function("document.querySelector('.badge').textContent === 'paused'")
    step("pause")
    page.fill("[name=pattern]", "/calendar/")
    page.click("button:has-text('See how many')")
    page.wait_for_function("/queued URL/.test(document.querySelector('h1').textContent)")
    step("exclude")
    page.click("button:has-text('Leave them out')")
    page.wait_for_url(re.compile(r"/jobs/orchids/$"))
    page.click("button:has-text('Continue')")
    page.wait_for_function("document.querySelector('.badge').textContent === 'running'")
    step("continue")
    for place in ["Issues", "Pages", "Hosts", "Captures"]:
        page.click(f".frame nav a:has-text('{place}')")
        page.wait_for_function("place => document.querySelector('[aria-current]').textContent.startsWith(place)", arg=place)
        step(place.lower())
    page.click(".rows tbody th a")
    page.wait_for_function("document.querySelector('clewline-banner') !== null")
    step("replay")
    page.goto(f"{origin}/jobs/orchids/pages")
    page.click(".rows tbody th a")
    page.wait_for_function("document.querySelector('.trail') !== null")
    step("why")
    page.goto(f"{origin}/jobs/orchids/")
    page.click("button:has-text('Stop')")
    page.wait_for_function("!['running', 'stopping'].includes(document.querySelector('.badge').textContent)")
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
    page.wait_for_function("document.querySelector('[role=alert]') !== null")
    page.fill("[name=name]", "orchids")
    page.click("button:has-text('Delete')")
    page.wait_for_function("/no crawl/.test(document.querySelector('h1').textContent)")
    step("delete")
    # A refused form is an error to the console, too.
    wrong[:] = [one for one in wrong if "422" not in one]
    assert not wrong, wrong


if __name__ == "__main__":
    main(*sys.argv[1:])
