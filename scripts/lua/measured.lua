#!lua flags=allow-oom
-- Stores how busy a source is, for all processes.
-- KEYS  1 what was measured
-- ARGV  1 the text, not empty, 2 how long it is valid (ms), 3 how many queries may begin in that time;
--       empty: any number
-- Returns 1
-- Cost  O(1)
local key, text, valid, room = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

redis.call('DEL', key)
redis.call('HSET', key, 'text', text)
if room ~= '' then redis.call('HSET', key, 'room', room) end
redis.call('PEXPIRE', key, valid)
return 1
