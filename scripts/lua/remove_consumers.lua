#!lua flags=allow-oom
-- Removes dead consumers of a group that have no pending entries: with a consumer that
-- has some, they would be lost.
-- KEYS  1 stream
-- ARGV  1 group, 2 silence after which a consumer counts as dead (ms), 3 max consumers to
--       remove, 4 the only consumer to remove, however short its silence (empty: any)
-- Returns how many were removed
-- Cost  O(consumers)
local stream, group, silence, max, only = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local consumers = redis.pcall('XINFO', 'CONSUMERS', stream, group)
if consumers.err then return redis.call('EXISTS', stream) == 0 and 0 or consumers end
local removed = 0
for _, consumer in ipairs(consumers) do
  local have = {}
  for i = 1, #consumer, 2 do have[consumer[i]] = consumer[i + 1] end
  local gone = have.name == only or only == '' and have.idle > silence
  if removed < max and have.pending == 0 and gone then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, have.name)
    removed = removed + 1
  end
end
return removed
