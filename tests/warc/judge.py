"""The command `warcio check` on archives.

judge.py FOLDER: every WARC file below FOLDER. Other scripts call judge() themselves. warcio 1.8.1
counts the framing of chunks as payload, so it complains about payload digests of chunked records;
each of those complaints is looked into with warcio's own reader of chunks. That reader knows no
trailers: it takes `0`, the end of its line and what follows two bytes later for payload, and that
is taken off again. Anything else, a record that it does not list, or a file that it skips is a
failure.
"""

import base64
import hashlib
import pathlib
import re
import subprocess
import sys

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader

BIN = pathlib.Path(sys.executable).parent
RECORD = re.compile(r"  offset (\d+) WARC-Record-ID (\S+) (\S+)$")
TOGETHER = 200
PASSED = {"digest pass", "no digest to check", "digest present but not checked (revisit)"}


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def payload(record):
    """What content_stream() reads, content codings left in place."""
    stream = record.content_stream()
    if record.http_headers.get_header("Content-Encoding"):
        stream = ChunkedDataReader(record.raw_stream, decomp_type=None)
    return b"".join(iter(stream.read, b""))


def has_digest(body, digest):
    before, mark, trailers = body.rpartition(b"0\r\n")
    has_trailers = mark and trailers.endswith(b"\r\n\r\n") and b":" in trailers
    return sha1(body) == digest or bool(has_trailers) and sha1(before) == digest


def complaints(paths):
    """What the command says of each record, by file and offset, and its exit code."""
    names = [str(path) for path in paths]
    done = subprocess.run([BIN / "warcio", "check", "-v", *names], capture_output=True, text=True, timeout=300)
    if done.stderr:
        sys.exit(f"warcio check: {done.stderr}")
    said, records, told = {}, None, None
    for line in done.stdout.splitlines():
        if line in names:
            records, told = said.setdefault(line, {}), None
        elif begun := RECORD.match(line):
            told = records.setdefault(int(begun[1]), [])
        elif line.startswith("    ") and told is not None:
            told.append(line.strip())
        else:
            sys.exit(f"warcio check: {line}")
    return said, done.returncode


def compared(path, said):
    """How many records a file has, and how many complaints were about chunks."""
    excused, records = 0, 0
    with open(path, "rb") as stream:
        iterator = ArchiveIterator(stream)
        for record in iterator:
            records += 1
            digest = record.rec_headers.get_header("WARC-Payload-Digest")
            coding = record.http_headers and record.http_headers.get_header("Transfer-Encoding") or ""
            is_chunked = record.rec_type == "response" and coding.lower() == "chunked"
            is_sound = is_chunked and has_digest(payload(record), digest)
            # Asking for the place reads the record to its end.
            offset = iterator.get_record_offset()
            told = [text for text in said.pop(offset, ["it is not listed"]) if text not in PASSED]
            if is_sound and told == [f"payload digest failed {digest}"]:
                excused += 1
            elif told:
                uri = record.rec_headers.get_header("WARC-Target-URI")
                sys.exit(f"warcio check {path}: {record.rec_type} of {uri} at {offset}: {told}")
    if said:
        sys.exit(f"warcio check {path}: {len(said)} records that are none")
    return records, excused


def judge(*paths):
    """How many records the files have, and how many complaints were about chunks."""
    said, code = complaints(paths)
    counts = [compared(path, said.get(str(path), {})) for path in paths]
    records, excused = (sum(column) for column in zip(*counts))
    if code != (1 if excused else 0):
        sys.exit(f"warcio check: exit code {code} for {paths}")
    return records, excused


def main():
    files = sorted(pathlib.Path(sys.argv[1]).rglob("*.warc.gz"))
    if not files:
        sys.exit(f"there are no WARC files in {sys.argv[1]}")
    # Starting the command takes longer than reading a small file.
    parts = [judge(*files[start : start + TOGETHER]) for start in range(0, len(files), TOGETHER)]
    records, excused = (sum(column) for column in zip(*parts))
    print(f"warcio check: {records} records in {len(files)} files, {excused} of them chunked")


if __name__ == "__main__":
    main()
