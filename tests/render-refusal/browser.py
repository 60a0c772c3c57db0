#!/usr/bin/env python3
"""A browser that starts and renders no page: every sample of a crawl fails at once.

It speaks as Chromium does through its pipe: messages that end with a zero byte, read from descriptor 3 and
written to descriptor 4.
"""

import json
import os

rest = b""
while piece := os.read(3, 65536):
    *messages, rest = (rest + piece).split(b"\0")
    for message in map(json.loads, messages):
        answer = {"id": message["id"]}
        if message["method"] == "Target.createBrowserContext":
            answer["error"] = {"message": "this browser renders nothing"}
        else:
            answer["result"] = {}
        os.write(4, json.dumps(answer).encode() + b"\0")
