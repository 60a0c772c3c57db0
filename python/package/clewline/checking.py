"""Checking a site, a folder or a job, with the rules of ``clewline check``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NoReturn, Optional, Tuple

from clewline.errors import ClewlineError, SettingsError, UnreachedError

__all__ = ["CheckResult", "Finding", "check"]

#: Exit codes of the command: nothing that fails a run, and findings that do.
_CHECKED = (0, 1)
_USAGE = 2
_STUCK = 3
_INTERRUPTED = 130


class Finding:
    """One thing that is wrong. Its page is ``page``, and ``target`` is what the page refers to."""

    rule: str
    #: ``error``, ``warning`` or ``notice``.
    severity: str
    page: str
    target: Optional[str]
    #: What was seen: ``404 Not Found``.
    evidence: str
    #: What to write instead, if that is known.
    mend: Optional[str]
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]
    #: How often it occurs.
    count: int
    #: Whether the baseline has it.
    known: bool
    #: By this it is known again in a later run.
    fingerprint: str
    #: The same with everything else, as the command's ``--format json`` has it.
    record: Dict[str, Any]

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = dict(record)
        place = record.get("place") or {}
        self.rule = record["rule"]
        self.severity = record["severity"]
        self.page = record["page"]
        self.target = record.get("target")
        self.evidence = record["evidence"]
        self.mend = record.get("mend")
        self.file = record.get("file")
        # A place that was not read again has line 0.
        self.line = place.get("line") or None
        self.column = place.get("column") or None
        self.count = record["count"]
        self.known = record["known"]
        self.fingerprint = record["fingerprint"]

    def __repr__(self) -> str:
        target = f" -> {self.target}" if self.target else ""
        return f"<Finding {self.severity} {self.rule}: {self.page}{target}: {self.evidence}>"


class CheckResult:
    """What a check found: an iterable of findings, the gravest first."""

    #: ``passed``, ``failed`` or ``unfinished``.
    outcome: str
    findings: List[Finding]
    #: How many pages and links were checked, and of what kind.
    facts: Dict[str, Any]

    def __init__(self, report: Mapping[str, Any]) -> None:
        self.outcome = report["outcome"]
        self.findings = [Finding(record) for record in report["findings"]]
        self.facts = dict(report["facts"])

    @property
    def passed(self) -> bool:
        """Whether the command would end with exit code 0."""
        return self.outcome == "passed"

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        """A result is true even if nothing was found; ask ``passed``."""
        return True

    def __repr__(self) -> str:
        return f"<CheckResult {self.outcome}: {len(self.findings)} findings>"


def check(*inputs: "str | os.PathLike[str]", **settings: Any) -> CheckResult:
    """Checks a site, a folder with a built site, documents, a job folder or a WARC file.

    Settings have the names of the flags of ``clewline check`` with ``_`` for ``-``: ``only=["links"]``,
    ``fail_on="warning"``, ``no_external=True``. A site's job is kept in ``<host>.crawl`` unless ``output``
    names another folder or ``no_output=True``. ``clewline.toml`` is not read unless ``config`` names one.
    """
    if not inputs:
        raise SettingsError("nothing to check", ("name a URL, a folder or a file",))
    if "config" not in settings:
        settings["no_config"] = True
    words = ["--format", "json", "--log-format", "json", *_flags(settings)]
    command = [sys.executable, "-m", "clewline", "check", *words, "--", *(os.fspath(one) for one in inputs)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode not in _CHECKED:
        _fail(done.returncode, done.stderr)
    return CheckResult(json.loads(done.stdout))


def _flags(settings: Mapping[str, Any]) -> Iterator[str]:
    """Settings as words of a command line."""
    for name, value in settings.items():
        if name in ("format", "log_format"):
            raise SettingsError(f"{name} is not a setting here", ("findings come as objects",))
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield flag
            continue
        several = isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike))
        for one in value if several else [value]:
            yield f"{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}"


def _fail(code: int, stderr: bytes) -> NoReturn:
    """Raises what the command said."""
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    message, hints = _told(stderr)
    kinds = {_USAGE: SettingsError, _STUCK: UnreachedError}
    raise kinds.get(code, ClewlineError)(message or f"the check ended with {code}", hints)


def _told(stderr: bytes) -> Tuple[str, Tuple[str, ...]]:
    """The errors among the lines of ``--log-format json``, and their hints."""
    messages: List[str] = []
    hints: List[str] = []
    for line in stderr.decode("utf-8", "replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            # Usage is told before the form of the log is known.
            if line.startswith("error: "):
                messages.append(line[len("error: ") :])
            continue
        if isinstance(said, dict) and said.get("level") == "error":
            messages.append(str(said.get("message")))
            hints.extend(map(str, said.get("hints", ())))
    return "\n".join(messages), tuple(hints)
