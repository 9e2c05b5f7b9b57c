#!lua flags=allow-oom
-- Reads how busy a source was when it was last measured, or lets the caller measure it.
-- KEYS  1 what was measured: text, empty while a process measures, and room: how many queries may
--         begin before the next measurement, if that is limited
-- ARGV  1 time that the caller has to measure (ms), 2 1: a query of the caller begins if there is room
-- Returns {1} the caller measures, and stores it (measured.lua); {0, text, room} what was measured, and
--       1 if there is room for a query; {0, '', 1} another process measures
-- Cost  O(1)
local key, lease, begins = KEYS[1], ARGV[1], ARGV[2] == '1'

local found = redis.call('HMGET', key, 'text', 'room')
if not found[1] then
  redis.call('HSET', key, 'text', '')
  redis.call('PEXPIRE', key, lease)
  return {1}
end
if not found[2] then return {0, found[1], 1} end
if tonumber(found[2]) < 1 then return {0, found[1], 0} end
if begins then redis.call('HSET', key, 'room', int(found[2] - 1)) end
return {0, found[1], 1}
