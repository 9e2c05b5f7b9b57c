#!lua flags=allow-oom
-- Appends an entry to its stream once more, behind all others, and acknowledges it.
-- KEYS  1 stream
-- ARGV  1 group, 2 entry, 3… its fields and values
-- Returns 1
-- Cost  O(1)
redis.call('XADD', KEYS[1], '*', unpack(ARGV, 3))
acknowledge(KEYS[1], ARGV[1], ARGV[2])
return 1
