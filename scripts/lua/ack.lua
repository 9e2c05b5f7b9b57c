#!lua flags=allow-oom
-- Acknowledges and removes entries, atomically.
-- KEYS  1 stream
-- ARGV  1 group, 2… entries
-- Returns how many were pending
-- Cost  O(entries)
local stream, group = KEYS[1], ARGV[1]
local pending = redis.call('XACK', stream, group, unpack(ARGV, 2))
redis.call('XDEL', stream, unpack(ARGV, 2))
return pending
