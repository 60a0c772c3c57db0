"""Has the app for programs judged by others: its metrics, its description, and what it answers.

    judge.py CLEWLINE PROMTOOL SCHEMATHESIS FOLDER

Two crawls of a small site on loopback are made in FOLDER and served with the right to operate. Prometheus'
own tool reads the metrics and our rules over them, a validator of OpenAPI reads the description, and schemathesis sends requests
that the description allows and others that it forbids, always the same ones. The server shows named
jobs, so that no request can start a crawl of what was made up.
"""

import http.server
import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import threading
import urllib.request

import openapi_spec_validator

# The scrape for Prometheus, with its rules.
DASHBOARD = pathlib.Path(__file__).resolve().parents[2] / "docs/dashboard"
PAGES = 40
# Requests for each operation, of each kind.
CASES = os.environ.get("CLEWLINE_CASES", "15")
SEED = "17"
LONGEST = 90
# 422 says that the form is right and what is named is nothing, 414 that no such length is read.
SETTINGS = """
[parameters]
"path.id" = "two.crawl"
"query.with" = "one.crawl"
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "3xx", 401, 403, 404, 409, 422]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 414, 415, 422]
"""


class Site(http.server.BaseHTTPRequestHandler):
    edition = "first"

    def do_GET(self):
        number = re.fullmatch(r"/(\d+)?", self.path)
        text = f"<!doctype html><title>Page {self.path}</title><h1>Page</h1><p>Words of the {self.edition} edition."
        if number:
            links = [int(number[1] or 0) * 2 + step for step in (1, 2)]
            text += "".join(f'<a href="/{link}">{link}</a> ' for link in links if link < PAGES)
        text += '<a href="/gone">gone</a>'
        body = text.encode()
        self.send_response(200 if number else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def crawled(clewline, jobs, root):
    crawl = [clewline, "crawl", root, "--no-config", "--quiet", "--allow-private", "--speed", "max", "--noproxy", "*"]
    subprocess.run([*crawl, "--output", jobs / "one.crawl"], check=True, timeout=LONGEST)
    Site.edition = "second"
    update = ["--output", jobs / "two.crawl", "--update-from", jobs / "one.crawl"]
    subprocess.run([*crawl, *update], check=True, timeout=LONGEST)


def read(url, token=None):
    request = urllib.request.Request(url)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def judge(address, token, promtool, schemathesis, folder):
    metrics = read(f"{address}/metrics", token)
    subprocess.run([promtool, "check", "metrics"], input=metrics, text=True, check=True, timeout=30)
    print(f"promtool: {metrics.count('# TYPE')} families, nothing to complain of", flush=True)
    subprocess.run([promtool, "check", "config", DASHBOARD / "clewline.yml"], check=True, timeout=30)
    place = f"{address}/api/v1/openapi.json"
    description = json.loads(read(place, token))
    openapi_spec_validator.validate(description)
    print(f"openapi-spec-validator: {len(description['paths'])} paths, valid", flush=True)
    settings = folder / "schemathesis.toml"
    settings.write_text(SETTINGS)
    subprocess.run(
        [schemathesis, "--config-file", settings, "run", place, "--header", f"Authorization: Bearer {token}",
         "--max-examples", CASES, "--seed", SEED, "--exclude-path-regex", "/events$", "--phases",
         "examples,coverage,fuzzing", "--generation-database", "none", "--continue-on-failure",
         "--no-color", "--warnings", "off"],
        check=True, timeout=LONGEST, cwd=folder,
    )


def main(clewline, promtool, schemathesis, folder):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    jobs = folder / "jobs"
    jobs.mkdir(parents=True)
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    crawled(clewline, jobs, f"http://127.0.0.1:{site.server_port}/")
    site.shutdown()
    token = secrets.token_urlsafe(24)
    (folder / "token").write_text(token)
    command = [clewline, "serve", jobs / "one.crawl", jobs / "two.crawl", "--control", "--port", "0"]
    server = subprocess.Popen([*command, "--token-file", folder / "token"], stdout=subprocess.PIPE, text=True)
    try:
        address = next(re.search(r"http://[\d.:]+", line)[0] for line in server.stdout if "http://" in line)
        threading.Thread(target=server.stdout.read, daemon=True).start()
        judge(address, token, promtool, schemathesis, folder)
        assert server.poll() is None, "the server ended"
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
