"""replayweb.page reads our packages: its service worker, in a browser, replays the same bytes.

replayweb.py CHROMIUM WORKER CLEWLINE PACKAGE FOLDER: WORKER is sw.js of the npm package
replaywebpage, PACKAGE a WACZ file, FOLDER is emptied. Some of the pages are asked from the worker and
from clewline serve and compared by digest; one is opened as a page. Ends with 1 at the first
difference.
"""

import gzip
import hashlib
import http.server
import json
import pathlib
import queue
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile

MOST = 100
PATIENCE = 120

PAGE = """<!doctype html><title>replay</title><script>
async function hex(bytes) {
  const sum = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(sum), byte => byte.toString(16).padStart(2, "0")).join("");
}
async function run() {
  const workers = navigator.serviceWorker;
  const told = new Promise(done => workers.addEventListener("message", event => {
    if (event.data.msg_type === "collAdded") done(event.data);
    if (event.data.error) done({error: JSON.stringify(event.data)});
  }));
  const controlled = new Promise(done => workers.addEventListener("controllerchange", done));
  await workers.register("/sw.js");
  if (!workers.controller) await controlled;
  const source = location.origin + "/all.wacz";
  workers.controller.postMessage({msg_type: "addColl", name: "all", file: {sourceUrl: source}});
  const added = await told;
  if (added.error) return {error: added.error};
  const wanted = await (await fetch("/wanted")).json();
  const found = [];
  for (const [stamp, url] of wanted) {
    const answer = await fetch(`/w/all/${stamp}id_/${url}`);
    found.push([answer.status, await hex(await answer.arrayBuffer())]);
  }
  const listed = await (await fetch("/w/api/c/all?all=1")).json();
  const frame = document.createElement("iframe");
  const loaded = new Promise(done => frame.onload = done);
  frame.src = `/w/all/${wanted[0][0]}mp_/${wanted[0][1]}`;
  document.body.append(frame);
  await loaded;
  const inner = frame.contentDocument;
  return {found, pages: listed.pages, title: inner.title, links: inner.links.length, text: inner.body.innerText};
}
onload = () => run().catch(error => ({error: String(error)})).then(
  result => fetch("/result", {method: "POST", body: JSON.stringify(result)}));
</script><body>"""


def check(holds, what):
    if not holds:
        sys.exit(f"replayweb.page: {what}")


class Files(http.server.BaseHTTPRequestHandler):
    """The page, the worker and the package, in parts as the worker wants it."""

    worker = package = b""
    wanted = []
    results = queue.Queue()

    def do_GET(self):
        path = self.path.split("?")[0]
        known = {
            "/": ("text/html", PAGE.encode()),
            "/sw.js": ("text/javascript", self.worker),
            "/wanted": ("application/json", json.dumps(self.wanted).encode()),
            "/all.wacz": ("application/wacz", self.package),
        }
        kind, body = known.get(path, ("text/plain", None))
        if body is None:
            self.send_error(404)
            return
        part = self.headers.get("Range", "")
        total = len(body)
        if part.startswith("bytes=") and path == "/all.wacz":
            first, _, last = part[6:].partition("-")
            start = int(first) if first else max(0, total - int(last))
            end = min(total, int(last) + 1) if first and last else total
            body = body[start:end]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{total}")
        else:
            self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(b"" if self.command == "HEAD" else body)
        except ConnectionError:
            # The worker looks at the beginning and goes.
            self.close_connection = True

    do_HEAD = do_GET

    def do_POST(self):
        self.results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def pages_in(package):
    with zipfile.ZipFile(package) as members:
        lines = members.read("pages/pages.jsonl").decode().splitlines()
    return [json.loads(line) for line in lines[1:]]


def digests(clewline, package, wanted):
    """What clewline serve has for each, decoded."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    server = subprocess.Popen([clewline, "serve", package, "--port", str(port)], stdout=subprocess.PIPE)
    try:
        server.stdout.readline()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        found = []
        for stamp, url in wanted:
            with opener.open(f"http://127.0.0.1:{port}/web/{stamp}id_/{url}", timeout=30) as answer:
                body = answer.read()
                if answer.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
            found.append(hashlib.sha256(body).hexdigest())
        return found
    finally:
        server.kill()
        server.wait()


def main():
    chromium, worker, clewline, package, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = pages_in(package)
    step = max(1, len(pages) // MOST)
    chosen = pages[::step][:MOST]
    Files.wanted = [["".join(filter(str.isdigit, page["ts"]))[:14], page["url"]] for page in chosen]
    Files.worker, Files.package = worker.read_bytes(), package.read_bytes()
    expected = digests(clewline, package, Files.wanted)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={folder / 'profile'}"]
        only = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        with open(folder / "chromium.log", "wb") as log:
            url = f"http://127.0.0.1:{server.server_port}/"
            browser = subprocess.Popen([chromium, *flags, only, "--remote-debugging-port=0", url], stdout=log, stderr=log)
            try:
                result = Files.results.get(timeout=PATIENCE)
            except queue.Empty:
                sys.exit(f"replayweb.page: no result within {PATIENCE} s; see {folder}/chromium.log")
            finally:
                browser.terminate()
                browser.wait()
        server.shutdown()
    check("error" not in result, result.get("error"))
    for page, (status, found), digest in zip(chosen, result["found"], expected, strict=True):
        check((status, found) == (200, digest), f"{page['url']}: {status}, other bytes than clewline serve has")
    listed = {page["url"]: page.get("title") for page in result["pages"]}
    for page in pages:
        expected = page.get("title", page["url"])
        check(listed.get(page["url"]) == expected, f"{page}: listed as {listed.get(page['url'])}")
    check(result["title"] == chosen[0].get("title", ""), f"the page opens as {result['title']}")
    check(result["links"] > 0 and result["text"].strip(), "the page that was opened is empty")
    print(f"replayweb.page: {len(chosen)} of {len(pages)} pages are the same, all are listed with their titles")


main()
