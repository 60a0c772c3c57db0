"""What the app costs a crawl and its machine.

    costs.py CLEWLINE NGINX FOLDER

Prints one object of JSON: processor time of a crawl per page without the dashboard, with one that nobody
looks at, and with ten viewers, one after the other in the same run; of a scrape of `/metrics` while a
crawl knows a million URLs; the time of a page of hosts with a hundred thousand hosts; the growth of a server
with 200 readers that read nothing, over 100,000 requests. All of it lies on loopback. CLEWLINE_SCALE
makes everything smaller: 0.01 is a hundredth.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

SCALE = float(os.environ.get("CLEWLINE_SCALE", "1"))
PAGES = max(int(30_000 * SCALE), 200)
WORDS = 1_000
ROUNDS = 5 if SCALE > 0.1 else 1
VIEWERS = 10
# The script of the app asks for a page at most once in this time.
BETWEEN = 1.0
KNOWN = max(int(1_000_000 * SCALE), 2_000)
LINKS = 2_000
SCRAPES = 50
HOSTS = max(int(100_000 * SCALE), 2_000)
ASKED = 20
SLOW = 200
REQUESTS = max(int(100_000 * SCALE), 1_000)
CLIENTS = 4
LONGEST = 900
TICKS = os.sysconf("SC_CLK_TCK")
NGINX = """daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 1024; }}
http {{ access_log off; default_type text/html; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c;
uwsgi_temp_path d; scgi_temp_path e; keepalive_requests 1000000;
server {{ listen 127.0.0.1:{port}; root "{root}"; }} }}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def site(nginx, folder, root):
    folder.mkdir()
    port = free_port()
    (folder / "nginx.conf").write_text(NGINX.format(port=port, root=root))
    server = subprocess.Popen([nginx, "-p", folder, "-e", "error.log", "-c", "nginx.conf"])
    try:
        until(lambda: connects(port), server)
        yield port
    finally:
        server.kill()
        server.wait()


def connects(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def until(happened, process):
    end = time.monotonic() + LONGEST
    while not happened():
        assert process.poll() is None and time.monotonic() < end, "it ended, or it takes too long"
        time.sleep(0.05)


def ask(port, path, method="GET", body=None):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    client.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    answer = client.getresponse()
    text = answer.read()
    client.close()
    return answer.status, text


def processor(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(process):
    pages = int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def make_pages(folder):
    """A site whose pages all link to a few others, and hold some words."""
    folder.mkdir()
    words = " ".join(f"word{number}" for number in range(WORDS))
    for number in range(PAGES):
        links = "".join(f'<a href="/{number * 8 + step}">next</a> ' for step in range(1, 9) if number * 8 + step < PAGES)
        name = str(number) if number else "index.html"
        (folder / name).write_text(f"<!doctype html><title>{number}</title><p>{words} {links}")


def crawl(clewline, job, root, *more):
    line = [clewline, "crawl", root, "--no-config", "--quiet", "--speed", "max", "--no-sitemaps", "--noproxy", "*"]
    return [str(word) for word in [*line, "--output", job, *more]]


def viewer(port, job, ended, looked):
    """What a page of the app does: it hears events, and asks for itself again."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        events = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
        events.request("GET", f"/api/v1/jobs/{job}/events")
        answer, last = events.getresponse(), 0
        while not ended.is_set() and (line := answer.readline()):
            if line.startswith(b"event: status") and time.monotonic() - last >= BETWEEN:
                last = time.monotonic()
                looked.append(ask(port, "/")[0])


def timed_crawl(clewline, folder, root, how):
    """Processor time of one crawl, and its pages."""
    job = folder / "timed.crawl"
    shutil.rmtree(job, ignore_errors=True)
    port, ended, looked = free_port(), threading.Event(), []
    more = [] if how == "alone" else ["--dashboard", "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen(crawl(clewline, job, root, *more), stdout=subprocess.DEVNULL)
    viewers = []
    if how == "watched":
        until(lambda: connects(port), process)
        viewers = [threading.Thread(target=viewer, args=(port, job.name, ended, looked)) for _ in range(VIEWERS)]
        for one in viewers:
            one.start()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    ended.set()
    for one in viewers:
        one.join()
    assert process.returncode == 0, process.returncode
    pages = sum(1 for _ in open(job / "urls.jsonl", "rb"))
    assert pages >= PAGES, pages
    return used.ru_utime + used.ru_stime, pages, len(looked)


def viewers(programs, folder):
    clewline, nginx = programs
    make_pages(folder / "pages")
    hows = ["alone", "unwatched", "watched"]
    micros, looks = {how: [] for how in hows}, 0
    with site(nginx, folder / "server", folder / "pages") as port:
        root = f"http://127.0.0.1:{port}/"
        timed_crawl(clewline, folder, root, "alone")
        for turn in range(ROUNDS):
            # The order changes, so that what grows warm or tired does so for all.
            for how in hows[turn % 3 :] + hows[: turn % 3]:
                seconds, pages, looked = timed_crawl(clewline, folder, root, how)
                micros[how].append(seconds / pages * 1e6)
                looks += looked
    mean = {how: sum(all) / len(all) for how, all in micros.items()}
    return {
        "pages": PAGES,
        "rounds": ROUNDS,
        "micros_per_page": {how: round(value, 1) for how, value in mean.items()},
        "all_micros_per_page": {how: [round(one, 1) for one in all] for how, all in micros.items()},
        "pages_of_the_app_asked_for": looks,
        "unwatched_percent": round(100 * (mean["unwatched"] / mean["alone"] - 1), 2),
        "watched_percent": round(100 * (mean["watched"] / mean["alone"] - 1), 2),
    }


@contextlib.contextmanager
def paused(programs, folder, name, pages, is_known):
    """A crawl of these pages with a dashboard, which waits as soon as it knows enough."""
    root = folder / name
    root.mkdir()
    for number, text in enumerate(pages):
        (root / (str(number) if number else "index.html")).write_text(text)
    clewline, nginx = programs
    port, job = free_port(), folder / f"{name}.crawl"
    with site(nginx, folder / f"{name}-server", root) as server:
        line = crawl(clewline, job, f"http://127.0.0.1:{server}/", "--scope", "any", "--contact", "me@example.com", "--dashboard", "--bind", f"127.0.0.1:{port}")
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        try:
            until(lambda: connects(port), process)
            base = f"/api/v1/jobs/{job.name}"
            status = lambda: json.loads(ask(port, f"{base}/status")[1])
            until(lambda: is_known(status()), process)
            subprocess.run([clewline, "ctl", job, "pause"], check=True, stdout=subprocess.DEVNULL)
            until(lambda: status().get("state") == "paused" and status()["in_flight"] == 0, process)
            yield port, process, status()
        finally:
            process.kill()
            process.wait()


def scrape(programs, folder):
    count = KNOWN // LINKS
    index = "".join(f'<a href="/{page}">more</a>' for page in range(1, count + 1))
    lists = ("".join(f'<a href="/x/{page}/{link}">x</a>' for link in range(LINKS)) for page in range(count))
    known = lambda status: status.get("queued", 0) + status.get("done", 0) >= KNOWN * 0.95
    with paused(programs, folder, "million", [index, *lists], known) as (port, process, status):
        ask(port, "/metrics")
        before = processor(process.pid)
        for _ in range(SCRAPES):
            # The figures of a crawl are kept for a quarter of a second.
            time.sleep(0.3)
            assert ask(port, "/metrics")[0] == 200
        used = processor(process.pid) - before
        idle = processor(process.pid)
        time.sleep(0.3 * SCRAPES)
        idle = processor(process.pid) - idle
    return {
        "known_urls": status["queued"] + status["done"],
        "scrapes": SCRAPES,
        "millis_of_processor": round(1000 * (used - idle) / SCRAPES, 2),
        "millis_without_scrapes": round(1000 * idle / SCRAPES, 2),
    }


def hosts(programs, folder):
    address = lambda number: f"127.{1 + number // 65025}.{number // 255 % 255}.{1 + number % 255}"
    count = HOSTS // LINKS
    index = "".join(f'<a href="/{page}">more</a>' for page in range(1, count + 1))
    lists = (
        "".join(f'<a href="http://{address(page * LINKS + link)}:9/">x</a>' for link in range(LINKS))
        for page in range(count)
    )
    known = lambda status: status.get("hosts_met", 0) >= HOSTS * 0.95
    with paused(programs, folder, "hosts", [index, *lists], known) as (port, process, status):
        times, before = [], processor(process.pid)
        for turn in range(ASKED):
            time.sleep(0.3)
            sort = ["queued", "host", "left", "errors"][turn % 4]
            began = time.monotonic()
            assert ask(port, f"/hosts?sort={sort}")[0] == 200
            times.append(1000 * (time.monotonic() - began))
        used = 1000 * (processor(process.pid) - before) / ASKED
        rows = json.loads(ask(port, "/api/v1/jobs/hosts.crawl/hosts?limit=1")[1])["matching"]
    times.sort()
    return {"hosts": status["hosts_met"], "listed": rows, "millis_of_processor": round(used, 1), "millis": round(times[len(times) // 2], 1), "most_millis": round(times[-1], 1)}


def readers(programs, folder):
    clewline, nginx = programs
    jobs = folder / "served"
    jobs.mkdir()
    if not (folder / "pages").is_dir():
        make_pages(folder / "pages")
    with site(nginx, folder / "again", folder / "pages") as port:
        timed_crawl(clewline, jobs, f"http://127.0.0.1:{port}/", "alone")
    line = [str(word) for word in [clewline, "serve", jobs, "--port", "0"]]
    server = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())[1])
        slow = []
        for _ in range(SLOW):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(f"GET /api/v1/jobs/timed.crawl/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            slow.append(one)
        paths = ["/", "/jobs/timed.crawl/", "/jobs/timed.crawl/pages", "/metrics", "/api/v1/jobs/timed.crawl/urls?limit=10"]
        many(port, paths, REQUESTS // 10)
        before = resident(server.pid)
        began = time.monotonic()
        many(port, paths, REQUESTS)
        seconds = time.monotonic() - began
        after = resident(server.pid)
        for one in slow:
            one.close()
    finally:
        server.kill()
        server.wait()
    return {
        "slow_readers": SLOW,
        "requests": REQUESTS,
        "requests_per_second": round(REQUESTS / seconds),
        "megabytes_before": round(before / 1e6, 1),
        "megabytes_after": round(after / 1e6, 1),
    }


def many(port, paths, count):
    wrong = []

    def client(share):
        kept = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
        for number in range(share):
            kept.request("GET", paths[number % len(paths)])
            answer = kept.getresponse()
            answer.read()
            if answer.status != 200:
                wrong.append(answer.status)

    clients = [threading.Thread(target=client, args=(count // CLIENTS,)) for _ in range(CLIENTS)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    assert not wrong, wrong[:5]


def main(clewline, nginx, folder):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    told = {}
    only = os.environ.get("CLEWLINE_COSTS", "viewers scrape hosts readers").split()
    for measure in [viewers, scrape, hosts, readers]:
        if measure.__name__ not in only:
            continue
        told[measure.__name__] = measure((clewline, nginx), folder)
        print(json.dumps(told), file=sys.stderr, flush=True)
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main(*sys.argv[1:])
