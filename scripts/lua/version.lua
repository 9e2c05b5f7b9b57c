#!lua flags=allow-oom
-- Stores the version of the state, if none or an older one is stored: after a loss of Redis's data
-- every process stores it again. Processes that know only older versions stop.
-- KEYS  1 version
-- ARGV  1 version that this process writes
-- Returns the version that is stored now
-- Errors BROKEN if what is stored is not a version
-- Cost  O(1)
local key, writes = KEYS[1], tonumber(ARGV[1])

local found = redis.call('GET', key)
if found and not string.match(found, '^%d+$') then
  return redis.error_reply('BROKEN the key is not a version: ' .. string.sub(found, 1, 100))
end
if found and tonumber(found) >= writes then return tonumber(found) end
redis.call('SET', key, ARGV[1])
return writes
