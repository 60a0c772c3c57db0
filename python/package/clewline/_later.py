"""Results for futures, a turn of the event loop later."""

from __future__ import annotations

from typing import Any


def settle(future: Any, setter: str, value: Any) -> None:
    """Calls a setter of a future, unless somebody gave it up."""
    if not future.done():
        getattr(future, setter)(value)
