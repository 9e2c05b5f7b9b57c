#!lua flags=allow-oom
-- Puts a member into the delayed set, due after a delay.
-- KEYS  1 delayed
-- ARGV  1 member, 2 delay (ms)
-- Returns when it is due (ms)
-- Cost  O(log n)
local time = redis.call('TIME')
local due = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], string.format('%.0f', due), ARGV[1])
return due
