#!lua flags=allow-oom
-- Reads how busy a source was when it was last measured, or lets the caller measure it.
-- KEYS  1 what was measured: the text, or an empty one while a process measures
-- ARGV  1 time that the caller has for it (ms)
-- Returns {1} the caller measures, and stores it (measured.lua); {0, text} what was measured,
--       {0, ''} another process measures
-- Cost  O(1)
local key, lease = KEYS[1], ARGV[1]

local found = redis.call('GET', key)
if found then return {0, found} end
redis.call('SET', key, '', 'PX', lease)
return {1}
