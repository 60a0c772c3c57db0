"""Clewline, the crawler that never loses its place.

>>> import clewline
>>> for page in clewline.crawl("https://example.com", max_pages=100):  # doctest: +SKIP
...     print(page.status, page.url, page.title)

The same object works in ``async for``. Settings have the names of the command's flags with ``_`` for
``-``; ``settings()`` lists them. Nothing is written to disk unless ``output`` names a folder, which
``open()`` reads later.
"""

from clewline._native import (
    Crawl,
    Element,
    Hit,
    Job,
    Page,
    __version__,
    crawl,
    open,
    settings,
)
from clewline.checking import CheckResult, Finding, check
from clewline.errors import ClewlineError, JobError, QueryError, SettingsError, UnreachedError

__all__ = [
    "CheckResult",
    "ClewlineError",
    "Crawl",
    "Element",
    "Finding",
    "Hit",
    "Job",
    "JobError",
    "Page",
    "QueryError",
    "SettingsError",
    "UnreachedError",
    "__version__",
    "check",
    "crawl",
    "open",
    "settings",
]
