#!/usr/bin/env python3
"""The service of an external listener: scores of the users that an earlier stage has found.

It may be killed at any time, and run any number of times beside itself.

    python3 service.py redis://user:password@127.0.0.1:6379/0

It needs redis (redis-py), and zstandard where limits.compress is zstd.
"""
import json
import os
import re
import socket
import sys
import threading
import time
import uuid

import redis

LISTENER = "vendor.scores"
TASKS = "fanfold:task:" + LISTENER
GROUP = "fanfold"
CONSUMER = f"{socket.gethostname()}-{os.getpid()}"

db = redis.Redis.from_url(sys.argv[1] if len(sys.argv) > 1 else "redis://127.0.0.1:6379/0")


class Permanent(Exception):
    """What would come again with every try."""


def insist(command, *args):
    """Runs a command until Redis takes it: it may be away, or full. Twice does no harm."""
    while True:
        try:
            return command(*args)
        except redis.RedisError as error:
            print(f"{error}; again in a second", file=sys.stderr)
            time.sleep(1)


def say(task, kind, **fields):
    """Tells Fanfold something of a task."""
    insist(db.xadd, "fanfold:reply", {**task, "type": kind, **fields})


def values(id, listener, column):
    """The values of a column that an earlier stage has found, chunk by chunk."""
    found = insist(db.hget, f"FileDownloadRecordEntity-{id}", f"{listener}:found")
    chunks = re.search(rb" chunks=(\d+)", found or b"")
    for n in range(int(chunks[1]) if chunks else 0):
        text = insist(db.hget, f"FileDownloadRecordEntity-{id}", f"{listener}.{column}" + (f"#{n}" if n else ""))
        if text is None:
            raise Permanent("the job has ended")
        if text[:4] == b"\x28\xb5\x2f\xfd":  # limits.compress
            import zstandard
            text = zstandard.ZstdDecompressor().decompressobj().decompress(text)
        yield json.loads(text)


def score(user, parameters):
    """Put your own here: the score of a user."""
    if parameters["from"] > "2100":
        raise Permanent(f"no scores from {parameters['from']} on")
    return f"{user * 1.5:.2f}"


def beat(task, end):
    """Says that the worker is alive, until it ends."""
    while not end.wait(1):
        say(task, "alive")


def work(entry, id, attempt):
    """Does one task."""
    task = {"id": id, "attempt": attempt, "listener": LISTENER, "worker": str(uuid.uuid4()), "entry": entry, "consumer": CONSUMER}
    say(task, "alive")
    end = threading.Event()
    threading.Thread(target=beat, args=(task, end), daemon=True).start()
    try:
        text = insist(db.hget, f"FileDownloadRecordEntity-{id}", "parameters")
        if text is None:
            return  # the job has ended
        parameters, number = json.loads(text), 0
        for users in values(id, "shop.users", "user_id"):
            for first in range(0, len(users), 1000):
                while insist(db.xlen, "fanfold:reply") > 100:
                    time.sleep(0.1)  # Fanfold is slower: give it time
                rows = [[user, score(user, parameters)] for user in users[first:first + 1000]]
                say(task, "rows", number=number, rows=json.dumps(rows))
                number += 1
        say(task, "done", chunks=number)
    except Permanent as error:
        say(task, "failed", error=str(error), permanent=1)
    except Exception as error:
        say(task, "failed", error=repr(error))
    finally:
        end.set()


while True:
    try:
        streams = db.xreadgroup(GROUP, CONSUMER, {TASKS: ">"}, count=1, block=5000)
    except redis.RedisError as error:
        print(error, file=sys.stderr)  # Redis is away, or Fanfold has not made the group yet
        time.sleep(1)
        continue
    for _, entries in streams:
        for entry, fields in entries:
            work(entry.decode(), fields[b"id"].decode(), fields[b"attempt"].decode())
