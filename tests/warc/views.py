"""Other people's tools show the archive of a crawl, and so do we: the same bytes.

views.py CLEWLINE FOLDER PAGES: CLEWLINE is the command, FOLDER is emptied, PAGES pages are
crawled, some of them once more with conditions. Needs the packages warcio, wacz and pywb. Every
capture is asked from pywb (which indexed the WARC files itself), from pywb with our WACZ file, and
from clewline serve; each payload is compared with the digest in our index. Ends with 1 at the
first difference.
"""

import base64
import gzip
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from judge import judge
from warcio.archiveiterator import ArchiveIterator
from warcio.timeutils import iso_date_to_timestamp

BIN = pathlib.Path(sys.executable).parent


def check(holds, what):
    if not holds:
        sys.exit(f"views: {what}")


class Pages(http.server.BaseHTTPRequestHandler):
    """Pages of all framings and codings, each with links to the next ones; some of the last are
    the same. The framing changes with each crawl, and so does each eleventh page."""

    protocol_version = "HTTP/1.1"
    count = 0
    crawl = 0

    def do_GET(self):
        kind, _, name = self.path.strip("/").rpartition("/")
        name = name or "0"
        if kind not in ("", "moved") or not name.isdigit() or int(name) >= self.count:
            return self.answer(404, b"not here", int(name) if name.isdigit() else 0)
        number = int(name)
        if kind:
            return self.answer(301, b"it moved", number, Location=f"/{number}")
        # Every fifth page has a validator, and does not change.
        tag = f'"{number}"'
        if number % 5 == 0 and self.headers.get("If-None-Match") == tag:
            self.send_response(304)
            self.send_header("ETag", tag)
            return self.end_headers()
        below = [link for link in range(number * 10 + 1, number * 10 + 11) if link < self.count]
        links = "".join(f"<a href='/{link}'>{link}</a>" for link in below)
        if number % 9 == 0:
            links += f"<a href='/moved/{number}'>moved</a>"
        text = "twin" if number % 7 == 0 else f"page {number} " * (number % 50 + 1)
        if number % 11 == 0 and number % 5:
            text += f" in crawl {self.crawl}"
        fields = {"ETag": tag} if number % 5 == 0 else {}
        self.answer(200, f"{links}<p>{text}</p>".encode(), number, **fields)

    def answer(self, status, body, number, **fields):
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        for name, value in fields.items():
            self.send_header(name, value)
        if number % 2:
            body = gzip.compress(body, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        if (number // 7 + self.crawl) % 3:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            return self.wfile.write(body)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(body), 100):
            piece = body[start : start + 100]
            self.wfile.write(b'%x;note="x"\r\n%s\r\n' % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class Site(http.server.ThreadingHTTPServer):
    request_queue_size = 128


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A program that serves, until the block ends."""

    def __init__(self, command, port, folder):
        self.port = port
        self.log = open(folder / f"server-{port}.log", "wb")
        self.process = subprocess.Popen(command, cwd=folder, stdout=self.log, stderr=self.log)

    def __enter__(self):
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                check(self.process.poll() is None and time.monotonic() < end, f"{self.process.args} does not serve")
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def ask(self, path):
        """Status and payload in its coding: pywb decodes it for whoever does not accept one."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Straight)
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
        try:
            answer = opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            try:
                return answer.status, answer.read()
            except http.client.IncompleteRead as cut:
                return answer.status, cut.partial


class Straight(urllib.request.HTTPRedirectHandler):
    """Redirects are answers as others."""

    def redirect_request(self, *_):
        return None


def sha1(body):
    return "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()


def compare(server, prefix, captures, who):
    for key, stamp, values in captures:
        status, body = server.ask(f"{prefix}/{stamp}id_/{values['url']}")
        if values["status"] == "304" and prefix != "/web":
            # pywb repeats the answer that there is nothing new, which has no payload.
            check((status, body) == (304, b""), f"{who}: {values['url']}: {status} {body[:80]}")
            continue
        check(sha1(body) == values["digest"], f"{who}: {stamp} {values}: {status} {sha1(body)} {body[:80]}")


def captures_of(job):
    lines = (job / "archive/index.cdxj").read_text().splitlines()
    return [(*line.split(" ", 2)[:2], json.loads(line.split(" ", 2)[2])) for line in lines]


def crawl(clewline, root, job, *flags):
    command = [clewline, "-q", root, "-o", job, "--warc-size", "1M", *flags]
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
    for path in sorted((job / "archive").glob("*.warc.gz")):
        judge(path)
    return captures_of(job)


def revisits_of(captures, status):
    return sum(one[2]["mime"] == "warc/revisit" and one[2]["status"] == status for one in captures)


def not_modified(job, earlier):
    """warcio reads revisits of answers 304: their profile, and the capture that they name."""
    known = {(values["url"], stamp): values["digest"] for _, stamp, values in earlier}
    count = 0
    for path in sorted((job / "archive").glob("*.warc.gz")):
        with open(path, "rb") as stream:
            for record in ArchiveIterator(stream):
                field = record.rec_headers.get_header
                if record.rec_type != "revisit" or record.http_headers.get_statuscode() != "304":
                    continue
                count += 1
                check(field("WARC-Profile").endswith("/server-not-modified"), f"profile {field('WARC-Profile')}")
                place = field("WARC-Refers-To-Target-URI"), iso_date_to_timestamp(field("WARC-Refers-To-Date"))
                check(known[place] == field("WARC-Payload-Digest"), f"304 refers to {place}")
                check(record.content_stream().read() == b"", "a 304 has no payload")
    return count


def collection(folder, name, *files):
    run = lambda *command: subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    run(BIN / "wb-manager", "init", name)
    run(BIN / "wb-manager", "add", name, *files)


def main():
    clewline, folder, Pages.count = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    job, again = folder / "job", folder / "again"
    with Site(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}/"
        captures = crawl(clewline, root, job)
        Pages.crawl = 1
        later = crawl(clewline, root, again, "--update-from", job, "--dedup-from", job, "-n", str(Pages.count // 4))
        server.shutdown()
    revisits = revisits_of(captures, "200")
    check(len(captures) >= Pages.count, f"{len(captures)} captures of {Pages.count} pages")
    check(revisits > Pages.count // 20, f"{revisits} revisits")
    check(revisits_of(captures, "301") == 0, "the body of a redirect was not kept")
    unchanged, same = revisits_of(later, "304"), revisits_of(later, "200")
    check(unchanged > Pages.count // 30 and same > Pages.count // 30, f"{unchanged} unchanged, {same} the same")
    check(not_modified(again, captures) == unchanged, "warcio sees other answers 304")

    package = folder / "job.wacz"
    subprocess.run([clewline, "export", job, "--to", "wacz", "-o", package], check=True, timeout=120)
    done = subprocess.run([BIN / "wacz", "validate", "-f", package], capture_output=True, text=True, timeout=300)
    check(done.returncode == 0 and "is valid" in done.stdout, f"wacz validate: {done.stdout} {done.stderr}")

    files = sorted((job / "archive").glob("*.warc.gz"))
    collection(folder, "files", *files)
    collection(folder, "package", "--unpack-wacz", package)
    collection(folder, "both", *files, *sorted((again / "archive").glob("*.warc.gz")))
    port = free_port()
    with Server([BIN / "wayback", "-b", "127.0.0.1", "-p", str(port)], port, folder) as pywb:
        compare(pywb, "/files", captures, "pywb with the WARC files")
        compare(pywb, "/package", captures, "pywb with the WACZ file")
        compare(pywb, "/both", later, "pywb with both crawls")
    for sources, asked in [([job], captures), ([package], captures), ([job, again], later)]:
        port = free_port()
        with Server([clewline, "serve", *sources, "--port", str(port)], port, folder) as ours:
            compare(ours, "/web", asked, f"clewline serve {sources}")
    print(
        f"{len(captures)} captures, {revisits} of them revisits, then {len(later)}, {same} revisits and "
        f"{unchanged} unchanged: the same from pywb and clewline"
    )


main()
