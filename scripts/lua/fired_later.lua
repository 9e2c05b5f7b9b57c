#!lua flags=allow-oom
-- Moves a firing whose action is done later from the stream to the set of waiting
-- firings, if its entry is still the caller's.
-- KEYS  1 stream of the entry, 2 waiting firings
-- ARGV  1 group, 2 consumer, 3 entry, 4 member, 5 delay (ms)
-- Returns 1 it waits; 0 another consumer has the entry, or it is done
-- Cost  O(log n)
local fired, later = KEYS[1], KEYS[2]
local group, consumer, entry, member, delay = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local pending = redis.call('XPENDING', fired, group, entry, entry, 1)
if not pending[1] or pending[1][2] ~= consumer then return 0 end
redis.call('ZADD', later, int(now() + tonumber(delay)), member)
redis.call('XACK', fired, group, entry)
redis.call('XDEL', fired, entry)
return 1
