#!lua
-- Starts an attempt of a job: state, data, timeout key, deadline, and one entry
-- for each listener of stage 1.
-- KEYS  1 data, 2 state, 3 timeout; on one node also 4 deadlines, 5 events,
--       6 incarnation, 7… task streams, one for each listener
-- ARGV  1 id, 2 attempt, 3 report, 4 definition, 5 parameters (JSON),
--       6 timeout (ms from now), 7 margin (ms that the keys outlive it),
--       8 cap of the events, 9 incarnation in which the attempt may start (empty:
--       any), 10… listeners of stage 1
-- Returns {outcome, deadline}: 1 started; 2 this attempt or a later one is there;
--       -1 Redis has lost its memory, perhaps that this attempt has run
-- Cost  O(listeners)
local data, state, timeout = KEYS[1], KEYS[2], KEYS[3]
local deadlines, events, incarnation = KEYS[4], KEYS[5], KEYS[6]
local id, attempt = ARGV[1], tonumber(ARGV[2])
local listeners = {unpack(ARGV, 10)}

local have = redis.call('HMGET', state, 'attempt', 'deadline')
if have[1] and tonumber(have[1]) >= attempt then
  return {2, tonumber(have[2])}
end
if incarnation and ARGV[9] ~= '' and get(incarnation) ~= ARGV[9] then return {-1, 0} end
local now = now()
local deadline = now + tonumber(ARGV[6])
local expires = math.max(deadline + tonumber(ARGV[7]), now + 600000)

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
  'deadline', int(deadline), 'expires', int(expires), 'definition', ARGV[4], 'report', ARGV[3],
  'parameters', ARGV[5], 'started', int(now), 'listeners', table.concat(listeners, ','),
}
for _, listener in ipairs(listeners) do
  fields[#fields + 1] = of(listener).stage
  fields[#fields + 1] = '1'
end
fresh(state, fields)
expires = int(expires)
redis.call('PEXPIREAT', data, expires)
redis.call('PEXPIREAT', state, expires)
redis.call('SET', timeout, id, 'PXAT', int(deadline))
if deadlines then
  at_end('ZADD', deadlines, int(deadline), id)
  for i = 1, #listeners do
    redis.call('XADD', KEYS[6 + i], '*', 'id', id, 'attempt', ARGV[2])
  end
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'id', id, 'attempt', ARGV[2], 'event', 'started', 'report', ARGV[3])
end
return {1, deadline}
