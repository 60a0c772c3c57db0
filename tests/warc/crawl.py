"""Other people's tools read the archive of a crawl.

crawl.py CLEWLINE FOLDER: CLEWLINE is the command, FOLDER is emptied. Needs the packages warcio
and fastwarc. A server sends odd answers, the command crawls them in small files, and every byte
that was sent stands in the archive. Ends with 1 at the first difference.
"""

import base64
import hashlib
import pathlib
import shutil
import socketserver
import subprocess
import sys
import threading

from fastwarc.warc import ArchiveIterator as FastIterator
from judge import judge
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as warcio

HEAD = b"HTTP/1.1 200 oK\r\ncontent-TYPE: text/html\r\nX-a: 1\r\nx-A:  2\r\nX-Folded: one\r\n two\r\n"
PAGES = 60


def page(path):
    """The bytes of an answer; three framings, bodies of many sizes."""
    number = int(path.strip("/") or 0)
    links = "".join(f"<a href='/{link}'>{link}</a>" for link in range(1, PAGES)) if number == 0 else ""
    body = f"<title>{path}</title>{links}{'word ' * number * 40}".encode()
    if number % 3 == 0:
        chunks = b"%x;note=\"x\"\r\n%s\r\n0\r\nTrailer: y\r\n\r\n" % (len(body), body)
        return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks, body
    if number % 3 == 1:
        return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body, body
    return HEAD + b"Connection: close\r\n\r\n" + body, body


class Odd(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().split(b" ")
        while self.rfile.readline().strip():
            pass
        path = line[1].decode()
        if path.strip("/").isdigit() or path == "/":
            self.wfile.write(page(path)[0])
        else:
            self.wfile.write(b"HTTP/1.0 404 No\r\n\r\nnot here")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def check(holds, what):
    if not holds:
        sys.exit(f"the archive of a crawl: {what}")


def read(path, root, found):
    with open(path, "rb") as stream:
        for record in ArchiveIterator(stream, no_record_parse=True, check_digests=False):
            kind, uri = record.rec_type, record.rec_headers.get_header("WARC-Target-URI")
            block = record.raw_stream.read()
            check(record.rec_headers.get_header("WARC-Block-Digest") == sha1(block), f"{path}: {kind} of {uri}")
            if kind == "response" and uri.removeprefix(root).strip("/").isdigit() or uri == root + "/":
                if kind == "response":
                    sent, body = page(uri.removeprefix(root))
                    check(block == sent, f"{uri}: other bytes than were sent")
                    check(record.rec_headers.get_header("WARC-Payload-Digest") == sha1(body), f"{uri}: payload")
            found.append((kind, uri))
    with open(path, "rb") as stream:
        for record in FastIterator(stream, parse_http=False):
            check(record.verify_block_digest(consume=False), f"{path}: fastwarc: {record.record_id}")


def main():
    clewline, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Server(("127.0.0.1", 0), Odd) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_address[1]}"
        command = [clewline, "-q", root, "-o", folder / "job", "--warc-size", "20k", "-t", "1"]
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)
        server.shutdown()
    files = sorted((folder / "job/archive").glob("*.warc.gz"))
    check(len(files) > 2, f"there are {len(files)} files")
    found, chunked = [], 0
    for path in files:
        read(path, root, found)
        warcio(["index", "-o", str(folder / "index"), str(path)])
        chunked += judge(path)[1]
    check(chunked == PAGES // 3, f"{chunked} chunked answers with extensions and trailers")
    lines = (folder / "job/urls.jsonl").read_text().splitlines()
    for number in range(1, PAGES):
        for kind in ["response", "request", "metadata"]:
            check(found.count((kind, f"{root}/{number}")) == 1, f"{kind} of /{number}")
    check(sum(kind == "metadata" for kind, _ in found) == len(lines), "a metadata record for each line")
    subprocess.run([clewline, "warc", "verify", folder / "job"], check=True, timeout=60, stdout=subprocess.DEVNULL)
    print(f"{len(found)} records in {len(files)} files")


main()
