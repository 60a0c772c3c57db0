"""What can go wrong. Every error has the message and the hints of the command."""

from __future__ import annotations

from typing import Tuple

__all__ = ["ClewlineError", "JobError", "QueryError", "SettingsError", "UnreachedError"]


class ClewlineError(Exception):
    """The base of all errors of this package."""

    #: What went wrong.
    message: str
    #: What to do about it.
    hints: Tuple[str, ...]

    def __init__(self, message: str, hints: Tuple[str, ...] = ()) -> None:
        super().__init__(message, hints)
        self.message = message
        self.hints = tuple(hints)

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"hint: {hint}" for hint in self.hints)])


class SettingsError(ClewlineError, ValueError):
    """A setting or a URL makes no sense."""


class UnreachedError(ClewlineError):
    """No root could be fetched, or the crawl could not go on."""


class JobError(ClewlineError):
    """A job folder cannot be read or written."""


class QueryError(ClewlineError, ValueError):
    """A query or a CSS selector makes no sense."""
