#!lua
-- Sends a claimed job into its next stage.
-- KEYS  1 data, 2 state; on one node also 3 events, 4… task streams, one for
--       each listener of the next stage
-- ARGV  1 id, 2 attempt, 3 stage that has ended, 4 fence, 5 cap of the events,
--       6… listeners of the next stage
-- Returns 1 advanced, now or before; 0 another claim; -1 gone
-- Cost  O(listeners)
local data, state, events = KEYS[1], KEYS[2], KEYS[3]
local id, attempt, stage, fence = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local listeners = {unpack(ARGV, 6)}

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', 'fence', 'expires', 'waits')
if have[1] ~= attempt or redis.call('EXISTS', data) == 0 then return -1 end
if have[4] ~= fence then return 0 end
if have[2] == 'RUN' and tonumber(have[3]) == stage + 1 then return 1 end
if have[2] ~= 'FOLD' or tonumber(have[3]) ~= stage then return -1 end
local target = redis.call('HINCRBY', state, 'target', #listeners)
local fields = {'stage', stage + 1, 'status', 'RUN', 'listeners', table.concat(listeners, ',')}
for _, listener in ipairs(listeners) do
  fields[#fields + 1] = listener .. ':stage'
  fields[#fields + 1] = stage + 1
end
if have[6] then
  -- What was paused before is of no meaning to this stage.
  fields[#fields + 1] = 'began'
  fields[#fields + 1] = int(now())
end
redis.call('HSET', state, unpack(fields))
redis.call('HDEL', state, 'worker', 'lease', '@fanin:tries', '@fanin:error')
redis.call('HSET', data, 'queryTarget', target)
redis.call('PEXPIREAT', data, have[5], 'GT')
if events then
  for i = 1, #listeners do
    redis.call('XADD', KEYS[3 + i], '*', 'id', id, 'attempt', attempt)
  end
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[5], '*', 'id', id, 'attempt', attempt, 'event', 'stage', 'stage', stage + 1)
end
return 1
