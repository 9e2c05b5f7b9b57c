#!lua flags=allow-oom
-- Adds a member to a sorted set of times, such as the delayed set, with the score now + delay.
-- KEYS  1 set
-- ARGV  1 member, 2 delay (ms)
-- Returns that time (ms)
-- Cost  O(log n)
local due = now() + tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], int(due), ARGV[1])
return due
