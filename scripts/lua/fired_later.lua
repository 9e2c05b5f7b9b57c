#!lua flags=allow-oom
-- Puts a firing whose action is to be done later out of the stream into the set of
-- those that wait, if its entry is still the caller's.
-- KEYS  1 fired, 2 the set of those that wait
-- ARGV  1 group, 2 consumer, 3 entry, 4 member, 5 delay (ms)
-- Returns 1 it waits; 0 the entry is somebody else's, or done
-- Cost  O(log n)
local fired, later = KEYS[1], KEYS[2]
local group, consumer, entry, member, delay = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local pending = redis.call('XPENDING', fired, group, entry, entry, 1)
if not pending[1] or pending[1][2] ~= consumer then return 0 end
redis.call('ZADD', later, int(now() + tonumber(delay)), member)
redis.call('XACK', fired, group, entry)
redis.call('XDEL', fired, entry)
return 1
