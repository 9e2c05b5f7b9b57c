#!lua flags=allow-oom
-- Puts a member into a set of times, such as the delayed one: now and a delay.
-- KEYS  1 set
-- ARGV  1 member, 2 delay (ms)
-- Returns that time (ms)
-- Cost  O(log n)
local time = redis.call('TIME')
local due = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], string.format('%.0f', due), ARGV[1])
return due
