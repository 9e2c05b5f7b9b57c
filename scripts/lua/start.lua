#!lua
-- Starts an attempt of a job: state, data, timeout key, deadline, and one entry
-- for each listener of stage 1.
-- KEYS  1 data, 2 state, 3 timeout
-- ARGV  1 id, 2 attempt, 3 parameters (JSON)
-- SHARED_KEYS  on one node: 1 deadlines, 2 events, 3 epoch, 4… task streams,
--       one for each listener
-- SHARED  1 report, 2 definition, 3 timeout (ms from now), 4 margin (ms that the keys
--       outlive it), 5 cap of the events, 6 epoch in which the attempt may
--       start (empty: any), 7 1: the deadline moves while a listener is paused that it
--       waits for (or empty), 8… listeners of stage 1
-- Returns {outcome, deadline}: 1 started; 2 the same attempt is there; -5 another job
--       of this id is, of this attempt or a later one: the id has been used again;
--       -1 Redis has lost its memory, perhaps that this attempt has run
-- Cost  O(listeners)
local data, state, timeout = KEYS[1], KEYS[2], KEYS[3]
local deadlines, events, epoch = SHARED_KEYS[1], SHARED_KEYS[2], SHARED_KEYS[3]
local id, attempt, report, definition = ARGV[1], tonumber(ARGV[2]), SHARED[1], SHARED[2]
local listeners = {unpack(SHARED, 8)}

local have = redis.call('HMGET', state, 'attempt', 'deadline', 'report', 'definition', 'parameters')
if have[1] and tonumber(have[1]) >= attempt then
  local same = have[1] == ARGV[2] and have[3] == report and have[4] == definition and have[5] == ARGV[3]
  return {same and 2 or -5, tonumber(have[2])}
end
if epoch and SHARED[6] ~= '' and get(epoch) ~= SHARED[6] then return {-1, 0} end
local now = now()
local deadline = now + tonumber(SHARED[3])
local expires = math.max(deadline + tonumber(SHARED[4]), now + 600000)

-- fresh makes a hash with these fields alone.
local function fresh(key, fields)
  local new = redis.pcall('HSET', key, unpack(fields))
  if new == #fields / 2 then return end
  -- It was there before, from an earlier attempt, or is no hash.
  redis.call('UNLINK', key)
  redis.call('HSET', key, unpack(fields))
end

local target = int(#listeners)
fresh(data, {'queryDoneCount', '0', 'queryTarget', target})
local fields = {
  -- What is read most often comes first, where Redis finds it soonest.
  'attempt', ARGV[2], 'status', 'RUN', 'stage', '1', 'fence', '0', 'done', '0', 'target', target,
  'deadline', int(deadline), 'expires', int(expires), 'definition', definition, 'report', report,
  'parameters', ARGV[3], 'started', int(now), 'listeners', table.concat(listeners, ','),
}
for _, listener in ipairs(listeners) do
  fields[#fields + 1] = of(listener).stage
  fields[#fields + 1] = '1'
end
if SHARED[7] ~= '' then
  fields[#fields + 1] = 'waits'
  fields[#fields + 1] = SHARED[7]
end
fresh(state, fields)
expires = int(expires)
redis.call('PEXPIREAT', data, expires)
redis.call('PEXPIREAT', state, expires)
redis.call('SET', timeout, id, 'PXAT', int(deadline))
if deadlines then
  at_end('ZADD', deadlines, int(deadline), id)
  for i = 1, #listeners do
    redis.call('XADD', SHARED_KEYS[3 + i], '*', 'id', id, 'attempt', ARGV[2])
  end
  redis.call('XADD', events, 'MAXLEN', '~', SHARED[5], '*', 'id', id, 'attempt', ARGV[2], 'event', 'started', 'report', report)
end
return {1, deadline}
