#!lua flags=allow-oom
-- Gives up a step that could not be done, to be done again: after a delay, or
-- at once by whoever reads its stream.
-- KEYS  1 data, 2 state; on one node also 3 delayed, 4 events, 5 stream of the step
-- ARGV  1 id, 2 attempt, 3 step: a listener's name, @fanin or @record, 4 its
--       token: owner or fence, 5 delay (ms; 0: into the stream at once), 6 1: the
--       try counts, wait: nothing went wrong, 7 error (empty: the last one stays), or
--       what it waits for, 8 cap of the events,
--       9 margin (ms that the keys live on at least, beyond the delay)
-- Returns {outcome, when it is due (ms), 1 if that is to be told}: 1 given up; 2 given up
--       before; 0 another owner, or the job fails; -1 gone
-- Cost  O(log n)
local data, state, delayed, events, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, attempt, step, token, delay = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local fold = step == '@fanin' or step == '@record'
local name = fold and '@fanin' or step
local have = redis.call('HMGET', state, 'attempt', 'status', fold and 'fence' or name .. ':owner', name .. ':done',
  name .. ':left', name .. ':next', name .. ':tries', name .. ':waits')
if have[1] ~= attempt then return {-1} end
local now = now()
if have[3] ~= token then
  if have[5] == token then return {2, tonumber(have[6] or now), 1} end
  return {0}
end
local status = have[2]
if fold then
  if status ~= 'FOLD' and status ~= 'PUBLISHING' and status ~= 'FAILING' then return {0} end
  redis.call('HDEL', state, 'worker', 'lease')
  redis.call('HINCRBY', state, 'fence', 1)
else
  if status ~= 'RUN' or have[4] then return {0} end
  redis.call('HDEL', state, name .. ':owner', name .. ':lease')
end
redis.call('PEXPIRE', data, delay + ARGV[9], 'GT')
redis.call('PEXPIRE', state, delay + ARGV[9], 'GT')
local due = int(now + delay)
redis.call('HSET', state, name .. ':left', token)
if ARGV[6] ~= '1' and tonumber(have[7] or 0) > 0 then redis.call('HINCRBY', state, name .. ':tries', -1) end
local waits = ARGV[6] == 'wait'
if waits then
  redis.call('HSET', state, name .. ':waits', ARGV[7])
elseif ARGV[7] ~= '' then
  redis.call('HSET', state, name .. ':error', ARGV[7])
  if have[8] then redis.call('HDEL', state, name .. ':waits') end
end
if delay > 0 then redis.call('HSET', state, name .. ':next', due) end
local told = not waits or have[8] ~= ARGV[7] -- what it waits for once, however often it looks
if delayed then
  if delay > 0 then
    redis.call('ZADD', delayed, due, id .. '/' .. attempt .. '/' .. step)
  else
    redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt)
  end
  if waits and told then
    redis.call('XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'id', id, 'attempt', attempt, 'event', 'waits',
      'step', step, 'next', due, 'for', ARGV[7])
  elseif not waits then
    redis.call('XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'id', id, 'attempt', attempt, 'event', 'retry',
      'step', step, 'counts', ARGV[6], 'next', due, 'error', ARGV[7])
  end
end
return {1, now + delay, told and 1 or 0}
