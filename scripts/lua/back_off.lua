#!lua flags=allow-oom
-- Keeps all processes from calling a source that has asked for a pause.
-- KEYS  1 pause of the source
-- ARGV  1 length of the pause (ms), 2 why; empty: as before, 3 how long the pause is kept after its end (ms)
-- Returns 1 set; 0 a pause that ends later is set
-- Cost  O(1)
local key, length, why, kept = KEYS[1], tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

local ends = now() + length
redis.call('HDEL', key, 'trial')
if tonumber(redis.call('HGET', key, 'until') or 0) >= ends then return 0 end
redis.call('HSET', key, 'until', int(ends))
if why ~= '' then redis.call('HSET', key, 'why', why) end
redis.call('PEXPIREAT', key, int(ends + kept))
return 1
