"""Other people's tools read our archives, and we read theirs.

check.py SPECIMEN CLEWLINE FOLDER: SPECIMEN writes archives, CLEWLINE is the command, FOLDER is
emptied. Needs the packages warcio, fastwarc and surt, and wget. Ends with 1 at the first difference.
"""

import base64
import hashlib
import http.server
import io
import json
import pathlib
import shutil
import subprocess
import sys
import threading

import judge
import surt
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

LONG = bytes(number % 253 for number in range(300_000))
KINDS = ["warcinfo", "request", "response", "revisit", "revisit", "metadata", "resource", "response", "response"]
HERE = pathlib.Path(__file__).parent
CHECKS = 0


def check(holds, what):
    global CHECKS
    CHECKS += 1
    if not holds:
        sys.exit(f"foreign tools: {what}")


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def run(*command, codes=(0,)):
    done = subprocess.run([str(part) for part in command], capture_output=True, timeout=60)
    check(done.returncode in codes, f"{command} ended with {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def warcio_reads(path):
    """Digests, kinds and bodies, by warcio. It counts the chunks' framing as payload, so the
    payload digest of chunked records is compared with what it decodes."""
    kinds = []
    with open(path, "rb") as stream:
        for record in ArchiveIterator(stream, check_digests=True):
            kinds.append(record.rec_type)
            headers = record.rec_headers
            uri = headers.get_header("WARC-Target-URI") or ""
            check("\r" not in uri and "<" not in uri, f"{path}: the URI {uri!r}")
            check(len(headers.headers) <= 12, f"{path}: injected fields {headers.headers}")
            body = record.content_stream().read()
            digest = headers.get_header("WARC-Payload-Digest")
            is_chunked = record.http_headers and record.http_headers.get_header("Transfer-Encoding")
            if record.rec_type == "response" and digest:
                check(sha1(body) == digest, f"{path}: the payload digest of {uri}")
            if not is_chunked:
                check(record.digest_checker.passed is not False, f"{path}: {record.digest_checker.problems}")
            if uri.endswith("/chunked") and record.rec_type == "response":
                check(body == b"<p>hello</p>", f"{path}: the chunked body is {body!r}")
            if uri.endswith("/long"):
                check(body == LONG, f"{path}: the long body differs")
    check(kinds == KINDS, f"{path}: warcio sees {kinds}")


def fastwarc_reads(path):
    kinds = []
    with open(path, "rb") as stream:
        for record in FastIterator(stream, parse_http=False):
            kinds.append(record.headers["WARC-Type"])
            check(record.verify_block_digest(consume=False), f"{path}: fastwarc: a block digest of {record.record_id}")
    check(kinds == KINDS, f"{path}: fastwarc sees {kinds}")


def indexes_agree(folder):
    """Our index leads warcio to the records that it names, under keys that surt makes."""
    lines = (folder / "index.cdxj").read_text().splitlines()
    check(lines == sorted(lines, key=str.encode), "the index is not sorted")
    check(len(lines) == 18, f"the index has {len(lines)} lines")
    for line in lines:
        key, timestamp, values = line.split(" ", 2)
        values = json.loads(values)
        check(key == surt.surt(values["url"]), f"the key of {values['url']} is {key}")
        check(timestamp == "20251115120000", f"the timestamp is {timestamp}")
        offset, length = int(values["offset"]), int(values["length"])
        if values["filename"].endswith(".zst"):
            continue
        member = (folder / values["filename"]).read_bytes()[offset : offset + length]
        records = [record.rec_headers.get_header("WARC-Target-URI") for record in ArchiveIterator(io.BytesIO(member))]
        check(records == [values["url"]], f"{line} leads to {records}")


def we_read(clewline, path, kinds, url, body):
    """Our command finds the same records, no fault, and the body."""
    rows = [json.loads(line) for line in run(clewline, "warc", "ls", "--json", path).splitlines()]
    found = [row["type"] for row in rows]
    check(kinds is None or found == kinds, f"{path}: we see {found}")
    run(clewline, "warc", "verify", path)
    got = run(clewline, "warc", "get", path, "--url", url)
    check(got == body, f"{path}: we get {got[:80]!r}")
    head = run(clewline, "warc", "get", path, "--url", url, "--headers")
    check(head.startswith(b"HTTP/1.") and head.endswith(b"\r\n\r\n"), f"{path}: the head is {head!r}")
    plain = run(clewline, "warc", "cat", path)
    again = path.with_name(path.name + ".plain.warc")
    again.write_bytes(plain)
    run(clewline, "warc", "verify", again)
    return rows


def warcio_writes(path, gzip):
    body = b"6\r\nchunks\r\n0\r\n\r\n"
    fields = [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")]
    with open(path, "wb") as stream:
        writer = WARCWriter(stream, gzip=gzip)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "warcio"}))
        head = StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1")
        url = "http://warcio.test/"
        response = writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=head)
        head = StatusAndHeaders("GET / HTTP/1.1", [("Host", "warcio.test")], is_http_request=True)
        request = writer.create_warc_record(url, "request", http_headers=head)
        writer.write_request_response_pair(request, response)
        date = response.rec_headers.get_header("WARC-Date")
        digest = response.rec_headers.get_header("WARC-Payload-Digest")
        head = StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1")
        writer.write_record(writer.create_revisit_record("http://warcio.test/again", digest, url, date, http_headers=head))


def wget_writes(folder, name, *flags):
    pages = folder / "pages"
    pages.mkdir(exist_ok=True)
    (pages / "index.html").write_text("<a href='two.html'>two</a>")
    (pages / "two.html").write_text("<p>two</p>")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=pages)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        run("wget", "-q", "-r", "--no-proxy", "-P", folder / "wget", f"--warc-file={folder / name}", *flags, url, codes=(0, 8))
        server.shutdown()
    return url


def every_view(clewline, path, folder, url):
    """What can be made from a folder with somebody else's file in it, and nothing else."""
    folder.mkdir()
    shutil.copy(path, folder)
    run(clewline, "warc", "rebuild", folder)
    lines = [json.loads(line) for line in (folder / "urls.jsonl").read_text().splitlines()]
    check({url, url + "two.html"} <= {line["url"] for line in lines}, f"{path}: {lines}")
    index = (folder / "index.cdxj").read_text()
    check('"url":"' + url + 'two.html"' in index and "text/html" in index, f"{path}: {index}")
    check((folder / "links/00000.links").stat().st_size > 8, f"{path}: no links")
    check((folder / "report.html").is_file(), f"{path}: no report")
    run(clewline, "export", folder, "--to", "mirror", "-o", folder / "mirror")
    page = next((folder / "mirror").glob("127.0.0.1*/index.html")).read_text()
    check('href="two.html"' in page.replace("'", '"'), f"{path}: the mirror says {page}")
    run(clewline, "export", folder, "--to", "wacz", "-o", folder / "all.wacz")
    got = run(clewline, "warc", "get", folder, "--url", url + "two.html")
    check(got == b"<p>two</p>", f"{path}: {got}")
    run(clewline, "index", folder)
    found = json.loads(run(clewline, "search", "--format", "json", folder, "two"))
    check({url, url + "two.html"} == {hit["url"] for hit in found["hits"]}, f"{path}: search finds {found}")


def main():
    specimen, clewline, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(specimen, folder)
    for suffix in ["", ".gz"]:
        path = folder / f"all.warc{suffix}"
        warcio_reads(path)
        fastwarc_reads(path)
        run(sys.executable, "-m", "warcio.cli", "index", path)
        check(judge.judge(path) == (len(KINDS), 1), f"{path}: warcio check")
    # The judge is no rubber stamp: another byte in a chunk, another block digest.
    plain = (folder / "all.warc").read_bytes()
    for before, after in [(b"<p>he\r\n", b"<p>ha\r\n"), (b"WARC-Block-Digest: sha1:", b"WARC-Block-Digest: sha1:A")]:
        spoilt = folder / "spoilt.warc"
        spoilt.write_bytes(plain.replace(before, after, 1))
        check(spoilt.read_bytes() != plain, f"{before} is not there")
        command = f"import judge; judge.judge({str(spoilt)!r})"
        done = subprocess.run([sys.executable, "-B", "-c", command], cwd=HERE, capture_output=True, text=True, timeout=60)
        check(done.returncode == 1 and "warcio check" in done.stderr, f"{after} was accepted: {done}")
        spoilt.unlink()
    # warcio has no zstd; the same bytes come out of the frames.
    fastwarc_reads(folder / "all.warc.zst")
    plain = run(clewline, "warc", "cat", folder / "all.warc.zst")
    expected = (folder / "all.warc").read_bytes().replace(b"all.warc\r\n", b"all.warc.zst\r\n")
    check(plain == expected, "the zstd file holds other records")
    indexes_agree(folder)
    for suffix in ["", ".gz", ".zst"]:
        we_read(clewline, folder / f"all.warc{suffix}", KINDS, "http://specimen.test/again", b"<p>hello</p>")
    for name, gzip in [("warcio.warc", False), ("warcio.warc.gz", True)]:
        warcio_writes(folder / name, gzip)
        kinds = ["warcinfo", "response", "request", "revisit"]
        we_read(clewline, folder / name, kinds, "http://warcio.test/again", b"chunks")
    for name, suffix, flags in [("wget", ".warc.gz", []), ("wget-plain", ".warc", ["--no-warc-compression"])]:
        url = wget_writes(folder, name, *flags)
        rows = we_read(clewline, folder / (name + suffix), None, url + "two.html", b"<p>two</p>")
        check(sum(row["type"] == "response" for row in rows) >= 3, f"{name}: {rows}")
        every_view(clewline, folder / (name + suffix), folder / f"{name}-alone", url)
    damaged = folder / "damaged.warc.gz"
    damaged.write_bytes((folder / "all.warc.gz").read_bytes()[:-9])
    run(clewline, "warc", "verify", damaged, codes=(1,))
    print(f"{CHECKS} checks")


main()
