"""The command ``clewline``."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from clewline import _native


def main() -> NoReturn:
    """Runs the command with the arguments of this process."""
    # The command handles Ctrl-C itself; Python's handler would raise KeyboardInterrupt afterwards.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.main(["clewline", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
