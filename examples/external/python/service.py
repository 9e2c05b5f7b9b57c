#!/usr/bin/env python3
"""The service of an external listener: scores of the users that an earlier stage has found.

It may be killed at any time, and run any number of times beside itself.

    python3 service.py redis://user:password@127.0.0.1:6379/0
    python3 service.py --partitions 4 redis://user:password@127.0.0.1:6379/0
    python3 service.py --partitions 8 --cluster redis://user:password@127.0.0.1:6379

It needs redis (redis-py), and zstandard where limits.compress is zstd.
"""
import argparse
import collections
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
GROUP = "fanfold"
CONSUMER = f"{socket.gethostname()}-{os.getpid()}"
AWAY = (redis.RedisError, redis.exceptions.RedisClusterException)

parser = argparse.ArgumentParser()
parser.add_argument("url", nargs="?", default="redis://127.0.0.1:6379/0")
parser.add_argument("--partitions", type=int, default=1, help="redis.partitions in Fanfold's configuration")
parser.add_argument("--cluster", action="store_true", help="the URL is that of a node of a Redis Cluster")
options = parser.parse_args()
db = (redis.RedisCluster if options.cluster else redis.Redis).from_url(options.url)


# The keys of a partition: its stream of tasks, where the answers go, and what a job's hash begins with.
Keys = collections.namedtuple("Keys", "tasks reply hash")
if options.cluster or options.partitions > 1:
    PARTITIONS = [Keys(t + "task:" + LISTENER, t + "reply", t + "FileDownloadRecordEntity-")
                  for t in ("{fanfold:%d}:" % i for i in range(options.partitions))]
else:
    PARTITIONS = [Keys("fanfold:task:" + LISTENER, "fanfold:reply", "FileDownloadRecordEntity-")]


class Permanent(Exception):
    """What would come again with every try."""


def insist(command, *args):
    """Runs a command until Redis takes it: it may be away, or full. Twice does no harm."""
    while True:
        try:
            return command(*args)
        except AWAY as error:
            print(f"{error}; again in a second", file=sys.stderr)
            time.sleep(1)


def say(keys, task, kind, **fields):
    """Tells Fanfold something of a task."""
    insist(db.xadd, keys.reply, {**task, "type": kind, **fields})


def values(job, listener, column):
    """The values of a column that an earlier stage has found, chunk by chunk: without nulls, each once."""
    seen = {None}
    found = insist(db.hget, job, f"{listener}:found")
    chunks = re.search(rb" chunks=(\d+)", found or b"")
    for n in range(int(chunks[1]) if chunks else 0):
        text = insist(db.hget, job, f"{listener}.{column}" + (f"#{n}" if n else ""))
        if text is None:
            raise Permanent("the job has ended")
        if text[:4] == b"\x28\xb5\x2f\xfd":  # limits.compress
            import zstandard
            text = zstandard.ZstdDecompressor().decompressobj().decompress(text)
        new = [value for value in dict.fromkeys(json.loads(text)) if value not in seen]
        seen.update(new)
        yield new


def score(user, parameters):
    """Put your own here: the score of a user."""
    if parameters["from"] > "2100":
        raise Permanent(f"no scores from {parameters['from']} on")
    return f"{user * 1.5:.2f}"


def beat(keys, task, end):
    """Says that the worker is alive, until it ends."""
    while not end.wait(1):
        say(keys, task, "alive")


def work(keys, entry, id, attempt):
    """Does one task."""
    task = {"id": id, "attempt": attempt, "listener": LISTENER, "worker": str(uuid.uuid4()), "entry": entry, "consumer": CONSUMER}
    say(keys, task, "alive")
    end = threading.Event()
    threading.Thread(target=beat, args=(keys, task, end), daemon=True).start()
    try:
        text = insist(db.hget, keys.hash + id, "parameters")
        if text is None:
            return  # the job has ended
        parameters, number = json.loads(text), 0
        for users in values(keys.hash + id, "shop.users", "user_id"):
            for first in range(0, len(users), 1000):
                while insist(db.xlen, keys.reply) > 100:
                    time.sleep(0.1)  # Fanfold is slower: give it time
                rows = [[user, score(user, parameters)] for user in users[first:first + 1000]]
                say(keys, task, "rows", number=number, rows=json.dumps(rows))
                number += 1
        say(keys, task, "done", chunks=number)
    except Permanent as error:
        say(keys, task, "failed", error=str(error), permanent=1)
    except Exception as error:
        say(keys, task, "failed", error=repr(error))
    finally:
        end.set()


def read(partitions):
    """Does the tasks of some partitions. COUNT is for each stream: their entries begin at once."""
    by_stream = {keys.tasks: keys for keys in partitions}
    while True:
        try:
            found = db.xreadgroup(GROUP, CONSUMER, {stream: ">" for stream in by_stream}, count=1, block=5000)
        except AWAY as error:
            print(error, file=sys.stderr)  # Redis is away, or Fanfold has not made the group yet
            time.sleep(1)
            continue
        workers = [threading.Thread(target=work, args=(by_stream[stream.decode()], entry.decode(), fields[b"id"].decode(), fields[b"attempt"].decode()))
                   for stream, entries in found for entry, fields in entries]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


# One call reads all streams of one server; those of a cluster need a reader each.
for some in [[keys] for keys in PARTITIONS] if options.cluster else [PARTITIONS]:
    threading.Thread(target=read, args=(some,)).start()
