#!lua flags=allow-oom
-- Puts a member into a set of times, such as the delayed one: now and a delay.
-- KEYS  1 set
-- ARGV  1 member, 2 delay (ms)
-- Returns that time (ms)
-- Cost  O(log n)
local due = now() + tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], int(due), ARGV[1])
return due
