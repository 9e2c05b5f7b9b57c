#!lua flags=allow-oom
-- Reserves a call of a source with a rate limit: calls of all processes come one after the
-- other, at equal intervals.
-- KEYS  1 the time of the next call (microseconds)
-- ARGV  1 interval between calls (microseconds), 2 max wait (microseconds)
-- Returns {1, wait in microseconds} reserved; {0, wait} the wait would be longer
-- Cost  O(1)
local key, distance, max = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local next = math.max(now, tonumber(redis.call('GET', key) or 0))
local wait = next - now
if wait > max then return {0, wait} end
redis.call('SET', key, int(next + distance), 'PX', math.ceil((wait + distance) / 1000))
return {1, wait}
