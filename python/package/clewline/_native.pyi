"""The parts of clewline that are written in Rust."""

import os
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, TypedDict, final

from typing_extensions import Self, Unpack

__all__ = [
    "Crawl",
    "Page",
    "Element",
    "Job",
    "StoredPages",
    "Hit",
    "crawl",
    "open",
    "settings",
    "main",
    "__version__",
]
__version__: str

# A test compares these with the settings that the extension knows.
class _Settings(TypedDict, total=False):
    input_file: str | bool | Iterable[str] | None
    scope: str | os.PathLike[str] | None
    no_parent: bool | None
    lenient: bool | None
    strict: bool | None
    include: str | bool | Iterable[str] | None
    exclude: str | bool | Iterable[str] | None
    depth: int | float | str | None
    page_requisites: bool | None
    no_lazy_images: bool | None
    script_links: bool | None
    accept_types: str | bool | Iterable[str] | None
    drop_params: str | bool | Iterable[str] | None
    no_sitemaps: bool | None
    follow_nofollow: bool | None
    ignore_robots: bool | None
    no_trap_detection: bool | None
    max_pages: int | float | str | None
    max_pages_per_host: int | float | str | None
    max_bytes: str | os.PathLike[str] | None
    max_time: str | os.PathLike[str] | None
    max_links: int | float | str | None
    max_url: str | os.PathLike[str] | None
    max_repeats: int | float | str | None
    max_host_failures: int | float | str | None
    speed: str | os.PathLike[str] | None
    delay: str | os.PathLike[str] | None
    rate: str | os.PathLike[str] | None
    concurrency: int | float | str | None
    host_concurrency: int | float | str | None
    ignore_crawl_delay: bool | None
    tries: int | float | str | None
    retry_delay: str | os.PathLike[str] | None
    max_retry_after: str | os.PathLike[str] | None
    robots_retry: str | os.PathLike[str] | None
    shared_addresses: str | bool | Iterable[str] | None
    user_agent: str | os.PathLike[str] | None
    contact: str | os.PathLike[str] | None
    header: str | bool | Iterable[str] | None
    user: str | os.PathLike[str] | None
    cookies: str | os.PathLike[str] | None
    http2: str | os.PathLike[str] | None
    no_cookies: bool | None
    timeout: str | os.PathLike[str] | None
    connect_timeout: str | os.PathLike[str] | None
    first_byte_timeout: str | os.PathLike[str] | None
    max_body: str | os.PathLike[str] | None
    max_redirects: int | float | str | None
    max_head: str | os.PathLike[str] | None
    min_rate: str | os.PathLike[str] | None
    proxy: str | os.PathLike[str] | None
    noproxy: str | bool | Iterable[str] | None
    insecure: bool | None
    cacert: str | os.PathLike[str] | None
    resolve: str | bool | Iterable[str] | None
    connect_to: str | bool | Iterable[str] | None
    dns: str | os.PathLike[str] | None
    allow_private: str | bool | Iterable[str] | None
    idle_connections: int | float | str | None
    render: str | bool | Iterable[str] | None
    render_limit: int | float | str | None
    render_timeout: str | os.PathLike[str] | None
    render_tabs: int | float | str | None
    screenshot: str | bool | Iterable[str] | None
    behaviors: str | Iterable[str] | None
    click: str | Iterable[str] | None
    browser: str | os.PathLike[str] | None
    no_browser_sandbox: bool | None
    output: str | os.PathLike[str] | None
    overwrite: bool | None
    in_memory: bool | None
    rescope: bool | None
    repair: bool | None
    memory: str | os.PathLike[str] | None
    min_free: str | os.PathLike[str] | None
    no_archive: bool | None
    warc_compression: str | os.PathLike[str] | None
    warc_zstd: bool | None
    warc_size: str | os.PathLike[str] | None
    archive_secrets: bool | None
    update_from: str | os.PathLike[str] | None
    dedup_from: str | bool | Iterable[str] | None

@final
class Element:
    """An element that a selector matched."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def html(self) -> str: ...
    @property
    def attributes(self) -> dict[str, str]: ...

@final
class Page:
    """A page that was fetched."""

    @property
    def url(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def title(self) -> str | None: ...
    @property
    def html(self) -> str: ...
    @property
    def body(self) -> bytes: ...
    @property
    def headers(self) -> dict[str, str]: ...
    @property
    def markdown(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def links(self) -> list[str]: ...
    @property
    def record(self) -> dict[str, Any]: ...
    def select(self, selector: str) -> list[Element]: ...
    def skip_links(self) -> None: ...

@final
class Crawl:
    """A crawl at work: an iterator over its pages, for `for` and for `async for`."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Page: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> Page: ...
    def add(self, url: str) -> bool: ...
    def close(self) -> None: ...
    @property
    def report(self) -> dict[str, Any] | None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None: ...

@final
class Hit:
    """A page that was found."""

    @property
    def url(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def snippet(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def alike(self) -> int: ...

@final
class StoredPages:
    """An iterator over stored pages."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Page: ...

@final
class Job:
    """What a crawl left on disk."""

    @property
    def path(self) -> os.PathLike[str]: ...
    def pages(self) -> Iterator[Page]: ...
    def search(self, query: str, limit: int = 10, *, fold: bool = True) -> list[Hit]: ...
    def to_arrow(self, table: Literal["pages", "links"] = "pages") -> Any: ...

def crawl(*urls: str, **settings: Unpack[_Settings]) -> Crawl: ...
def open(path: str | os.PathLike[str]) -> Job: ...
def settings() -> list[tuple[str, str, str]]: ...
def main(arguments: Sequence[str]) -> int: ...
