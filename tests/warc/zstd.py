"""Other people's tools read an archive in zstd, whose files have dictionaries.

zstd.py CLEWLINE FOLDER: CLEWLINE is the command, FOLDER is emptied. Needs the packages fastwarc,
warcio and zstandard. A crawl is killed after its first dictionary and goes on; every file is read
alone, by fastwarc and by zstandard with the dictionary that it finds in the file. Ends with 1 at
the first difference.
"""

import http.server
import pathlib
import shutil
import struct
import subprocess
import sys
import threading

import zstandard
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

PAGES = 1500
KILL_AT = 1000
DICTIONARY = b"\x5d\x2a\x4d\x18"


def check(holds, what):
    if not holds:
        sys.exit(f"an archive in zstd: {what}")


class Pages(http.server.BaseHTTPRequestHandler):
    asked = 0
    crawl = None
    lock = threading.Lock()

    def do_GET(self):
        with Pages.lock:
            Pages.asked += 1
            if Pages.asked == KILL_AT:
                Pages.crawl.kill()
        name = self.path.strip("/")
        is_known = name == "" or name.isdigit()
        links = range(1, PAGES) if name == "" else [int(name) % PAGES] if is_known else []
        words = "".join(f"<li class=entry>{int(name or 0) * 31 + word * 7}</li>" for word in range(60)) if is_known else ""
        body = (f"<title>{name}</title>{words}" + "".join(f"<a href='/{link}'>{link}</a>" for link in links)).encode()
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def records(path):
    """The records of a file, by zstandard."""
    data = path.read_bytes()
    dictionary = None
    if data.startswith(DICTIONARY):
        (size,) = struct.unpack("<I", data[4:8])
        dictionary = zstandard.ZstdCompressionDict(data[8 : 8 + size])
        data = data[8 + size :]
    while data:
        frame = zstandard.get_frame_parameters(data)
        check(frame.has_checksum, f"{path}: a frame without a checksum")
        check(frame.dict_id == (dictionary.dict_id() if dictionary else 0), f"{path}: a frame with another dictionary")
        decoder = zstandard.ZstdDecompressor(dict_data=dictionary).decompressobj()
        record = decoder.decompress(data)
        check(decoder.eof and len(record) == frame.content_size, f"{path}: a frame of another size")
        check(record.startswith(b"WARC/1.1\r\n") and record.endswith(b"\r\n\r\n"), f"{path}: {record[:40]!r}")
        data = decoder.unused_data
        yield record


def by_warcio(path):
    """What warcio makes of a file; of bytes that it does not know it may make anything."""
    kinds = []
    try:
        with open(path, "rb") as stream:
            kinds.extend(record.rec_type for record in ArchiveIterator(stream))
    except Exception:
        pass
    return kinds


def main():
    clewline, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    job = folder / "job"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}"
        flags = ["--warc-compression", "zstd", "--speed", "max", "--concurrency", "8"]
        Pages.lock.acquire()
        Pages.crawl = subprocess.Popen([clewline, "-q", root, "-o", job, *flags], stdout=subprocess.DEVNULL)
        Pages.lock.release()
        check(Pages.crawl.wait(timeout=120) == -9, "the crawl ended before it was killed")
        subprocess.run([clewline, "resume", "-q", job], check=True, timeout=120, stdout=subprocess.DEVNULL)
        server.shutdown()
    files = sorted((job / "archive").glob("*.warc.zst"), key=lambda path: path.name.rsplit("-", 1)[1])
    begins = [path.read_bytes()[:4] == DICTIONARY for path in files]
    check(len(files) > 1 and not begins[0] and begins[-1], f"files with a dictionary: {begins}")
    told = 0
    for path in files:
        ours = list(records(path))
        with open(path, "rb") as stream:
            theirs = [record.verify_block_digest() for record in FastIterator(stream, parse_http=False)]
        check(all(theirs) and len(theirs) == len(ours), f"{path}: fastwarc reads {len(theirs)} of {len(ours)} records")
        told += sum(record[10:].startswith(b"WARC-Type: metadata\r\n") for record in ours)
        # As docs/formats.md says. If that changes, the page must.
        check(len(by_warcio(path)) < len(ours), "warcio reads zstd now")
    lines = (job / "urls.jsonl").read_text().splitlines()
    check(told == len(lines), f"{told} metadata records for {len(lines)} lines")
    subprocess.run([clewline, "warc", "verify", job], check=True, timeout=60, stdout=subprocess.DEVNULL)
    print(f"{told} URLs in {len(files)} files, dictionaries {begins}")


main()
