#!/usr/bin/env -S python3 -IS
"""A browser that starts and renders no page: every sample of a crawl fails at once.

It speaks as Chromium does through its pipe: messages that end with a zero byte, read from descriptor 3 and
written to descriptor 4. It loads no module that it can do without, because its start takes time from the
crawl that is measured.
"""

from posix import read, write

REFUSAL = b'"error":{"message":"this browser renders nothing"}'

rest = b""
while piece := read(3, 65536):
    *messages, rest = (rest + piece).split(b"\0")
    for message in messages:
        number = message.removeprefix(b'{"id":').partition(b",")[0]
        is_page = b'"Target.createBrowserContext"' in message
        write(4, b'{"id":' + number + b"," + (REFUSAL if is_page else b'"result":{}') + b"}\0")
