"""Makes a wheel of an extension that cargo built already.

maturin builds wheels for people (``maturin build -m python/Cargo.toml``). It would build every foreign
crate once more with other features than the workspace has, so tests take the extension of the
workspace's own build. Usage: ``wheel.py EXTENSION VERSION FOLDER``; prints the path of the wheel.
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import sys
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = "[console_scripts]\nclewline = clewline.__main__:main\n"


def main(extension: str, version: str, folder: str) -> None:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"cp39-abi3-{platform}"
    info = f"clewline-{version}.dist-info"
    package = (HERE / "package").rglob("*")
    files = {
        path.relative_to(HERE / "package").as_posix(): path.read_bytes()
        for path in sorted(package)
        if path.suffix in {".py", ".pyi", ".typed"}
    }
    files["clewline/_native.abi3.so"] = pathlib.Path(extension).read_bytes()
    metadata = f"Metadata-Version: 2.1\nName: clewline\nVersion: {version}\nRequires-Python: >=3.9\n"
    files[f"{info}/METADATA"] = metadata.encode()
    wheel = f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = wheel.encode()
    files[f"{info}/entry_points.txt"] = SCRIPT.encode()
    target = pathlib.Path(folder) / f"clewline-{version}-{tag}.whl"
    target.parent.mkdir(parents=True, exist_ok=True)
    record = ""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record += f"{name},sha256={digest.decode()},{len(content)}\n"
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    print(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
