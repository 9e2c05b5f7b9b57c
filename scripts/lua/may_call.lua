#!lua flags=allow-oom
-- Tells whether a source may be called. After a pause, one call at a time is tried, until one
-- succeeds (called.lua).
-- KEYS  1 pause of the source
-- ARGV  1 time after which the next call is tried if this one has no result (ms)
-- Returns {1, 0} it may; {1, 1} it may, as a trial; {0, ms, why} it has a pause, or a trial runs:
--       ask again after this time
-- Cost  O(1)
local key, lease = KEYS[1], tonumber(ARGV[1])

local pause = redis.call('HMGET', key, 'until', 'trial', 'why')
if not pause[1] then return {1, 0} end
local now = now()
local ends, trial = tonumber(pause[1]), tonumber(pause[2] or 0)
if now < ends then return {0, ends - now, pause[3]} end
if now < trial then return {0, math.min(trial - now, 1000), pause[3]} end
redis.call('HSET', key, 'trial', int(now + lease))
return {1, 1}
