#!/usr/bin/env python3
"""The service of an external listener: it returns scores of the users that an earlier stage has found.

You can kill it at any time, and run any number of copies at once.

    python3 service.py redis://user:password@127.0.0.1:6379/0
    python3 service.py --partitions 4 redis://user:password@127.0.0.1:6379/0
    python3 service.py --partitions 8 --cluster redis://user:password@127.0.0.1:6379

It needs redis (redis-py), and zstandard if limits.redis_compression is zstd.
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
parser.add_argument("--cluster", action="store_true", help="the URL names a node of a Redis Cluster")
options = parser.parse_args()
db = (redis.RedisCluster if options.cluster else redis.Redis).from_url(options.url)


# The keys of a partition: the stream of tasks, the stream of replies, and the prefix of a job's hash.
Keys = collections.namedtuple("Keys", "tasks reply hash")
if options.cluster or options.partitions > 1:
    PARTITIONS = [Keys(t + "task:" + LISTENER, t + "reply", t + "FileDownloadRecordEntity-")
                  for t in ("{fanfold:%d}:" % i for i in range(options.partitions))]
else:
    PARTITIONS = [Keys("fanfold:task:" + LISTENER, "fanfold:reply", "FileDownloadRecordEntity-")]


class Permanent(Exception):
    """An error that every try would repeat."""


def insist(command, *args):
    """Repeats a command until Redis accepts it: Redis may be unreachable or full. Commands that run twice have no further effect."""
    while True:
        try:
            return command(*args)
        except AWAY as error:
            print(f"{error}; retrying in a second", file=sys.stderr)
            time.sleep(1)


def say(keys, task, kind, **fields):
    """Sends Fanfold a reply to a task."""
    insist(db.xadd, keys.reply, {**task, "type": kind, **fields})


def values(job, listener, column):
    """The values of a column that an earlier stage has found, chunk by chunk, without nulls and duplicates."""
    seen = {None}
    found = insist(db.hget, job, f"{listener}:found")
    chunks = re.search(rb" chunks=(\d+)", found or b"")
    for n in range(int(chunks[1]) if chunks else 0):
        text = insist(db.hget, job, f"{listener}.{column}" + (f"#{n}" if n else ""))
        if text is None:
            raise Permanent("the job has ended")
        if text[:4] == b"\x28\xb5\x2f\xfd":  # limits.redis_compression
            import zstandard
            text = zstandard.ZstdDecompressor().decompressobj().decompress(text)
        new = [value for value in dict.fromkeys(json.loads(text)) if value not in seen]
        seen.update(new)
        yield new


def score(user, parameters):
    """The score of a user. Replace it with your own code."""
    if parameters["from"] > "2100":
        raise Permanent(f"there are no scores from {parameters['from']} on")
    return f"{user * 1.5:.2f}"


def beat(keys, task, end):
    """Reports every second that the worker is alive, until end is set."""
    while not end.wait(1):
        say(keys, task, "alive")


def work(keys, entry, id, attempt):
    """Works on one task."""
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
                    time.sleep(0.1)  # Fanfold is slower than this service
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
    """Works on the tasks of some partitions. COUNT applies to every stream; the entries of a call are processed at the same time."""
    by_stream = {keys.tasks: keys for keys in partitions}
    while True:
        try:
            found = db.xreadgroup(GROUP, CONSUMER, {stream: ">" for stream in by_stream}, count=1, block=5000)
        except AWAY as error:
            print(error, file=sys.stderr)  # Redis is unreachable, or Fanfold has not created the group yet
            time.sleep(1)
            continue
        workers = [threading.Thread(target=work, args=(by_stream[stream.decode()], entry.decode(), fields[b"id"].decode(), fields[b"attempt"].decode()))
                   for stream, entries in found for entry, fields in entries]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


# One call reads all streams of one server. In a cluster, every stream needs its own reader.
for some in [[keys] for keys in PARTITIONS] if options.cluster else [PARTITIONS]:
    threading.Thread(target=read, args=(some,)).start()
