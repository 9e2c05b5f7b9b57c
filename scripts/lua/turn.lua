#!lua flags=allow-oom
-- Gives a turn at a source of which only so many may be had in a time: one after the
-- other, at even distances, over all processes.
-- KEYS  1 when the next turn is (microseconds)
-- ARGV  1 distance of turns (microseconds), 2 patience: the longest wait (microseconds)
-- Returns {1, wait in microseconds} the turn is the caller's; {0, wait} it would be longer
-- Cost  O(1)
local key, distance, patience = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local turn = math.max(now, tonumber(redis.call('GET', key) or 0))
local wait = turn - now
if wait > patience then return {0, wait} end
redis.call('SET', key, int(turn + distance), 'PX', math.ceil((wait + distance) / 1000))
return {1, wait}
