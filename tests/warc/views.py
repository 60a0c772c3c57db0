"""Other people's tools show the archive of a crawl, and so do we: the same bytes.

views.py CLEWLINE FOLDER PAGES: CLEWLINE is the command, FOLDER is emptied, PAGES pages are
crawled. Needs the packages wacz and pywb. Every capture is asked from pywb (which indexed the
WARC files itself), from pywb with our WACZ file, and from clewline serve; each payload is compared
with the digest in our index. Ends with 1 at the first difference.
"""

import base64
import gzip
import hashlib
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

BIN = pathlib.Path(sys.executable).parent


def check(holds, what):
    if not holds:
        sys.exit(f"views: {what}")


class Pages(http.server.BaseHTTPRequestHandler):
    """Pages of all framings and codings, each with links to the next ones; some of the last are the same."""

    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self):
        name = self.path.strip("/").split("?")[0] or "0"
        if not name.isdigit() or int(name) >= self.count:
            self.send_error(404)
            return
        number = int(name)
        below = [link for link in range(number * 10 + 1, number * 10 + 11) if link < self.count]
        links = "".join(f"<a href='/{link}'>{link}</a>" for link in below)
        text = "twin" if number % 7 == 0 else f"page {number} " * (number % 50 + 1)
        body = f"{links}<p>{text}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if number % 2:
            body = gzip.compress(body, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        # pywb takes the head of a revisit for the body of its original: twins are framed alike.
        if number % 2 if text == "twin" else number % 3:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 100):
                piece = body[start : start + 100]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
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

    def payload(self, path):
        """The payload in its coding: pywb decodes it for whoever does not accept one."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
        try:
            with opener.open(request, timeout=30) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            return error.read()


def compare(server, prefix, captures, who):
    for key, stamp, values in captures:
        body = server.payload(f"{prefix}/{stamp}id_/{values['url']}")
        digest = "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()
        check(digest == values["digest"], f"{who}: {values['url']} has {digest}, not {values['digest']}")


def collection(folder, name, *files):
    run = lambda *command: subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    run(BIN / "wb-manager", "init", name)
    run(BIN / "wb-manager", "add", name, *files)


def main():
    clewline, folder, Pages.count = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Site(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}/"
        command = [clewline, "-q", root, "-o", folder / "job", "--warc-size", "1M"]
        subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
        server.shutdown()
    lines = (folder / "job/archive/index.cdxj").read_text().splitlines()
    captures = [(*line.split(" ", 2)[:2], json.loads(line.split(" ", 2)[2])) for line in lines]
    captures = [one for one in captures if one[2]["status"] == "200"]
    revisits = sum(one[2]["mime"] == "warc/revisit" for one in captures)
    check(len(captures) >= Pages.count, f"{len(captures)} captures of {Pages.count} pages")
    check(revisits > Pages.count // 20, f"{revisits} revisits")

    package = folder / "job.wacz"
    subprocess.run([clewline, "export", folder / "job", "--to", "wacz", "-o", package], check=True, timeout=120)
    done = subprocess.run([BIN / "wacz", "validate", "-f", package], capture_output=True, text=True, timeout=300)
    check(done.returncode == 0 and "is valid" in done.stdout, f"wacz validate: {done.stdout} {done.stderr}")

    files = sorted((folder / "job/archive").glob("*.warc.gz"))
    collection(folder, "files", *files)
    collection(folder, "package", "--unpack-wacz", package)
    port = free_port()
    with Server([BIN / "wayback", "-b", "127.0.0.1", "-p", str(port)], port, folder) as pywb:
        compare(pywb, "/files", captures, "pywb with the WARC files")
        compare(pywb, "/package", captures, "pywb with the WACZ file")
    for source in ["job", "job.wacz"]:
        port = free_port()
        with Server([clewline, "serve", folder / source, "--port", str(port)], port, folder) as ours:
            compare(ours, "/web", captures, f"clewline serve {source}")
    print(f"{len(captures)} captures, {revisits} of them revisits, the same from pywb and clewline")


main()
