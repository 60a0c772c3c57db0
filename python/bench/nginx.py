"""nginx on loopback, for the benches beside this file."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
from typing import Iterator

CONF = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{ include /etc/nginx/mime.types; default_type text/html; access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000; {site} }} }}"""


@contextlib.contextmanager
def serving(site: str) -> Iterator[str]:
    """Serves what the lines of a server block say; gives the URL of its root."""
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        conf = pathlib.Path(folder) / "nginx.conf"
        conf.write_text(CONF.format(folder=folder, port=port, site=site))
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        server = subprocess.Popen([nginx, "-c", str(conf), "-e", f"{folder}/start.log"])
        try:
            for _ in range(500):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.01)
            else:
                raise SystemExit("nginx does not listen")
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            server.wait()
