#!lua flags=allow-oom
-- Claims a job whose barrier was reached, or that is to end, for the time of a
-- lease; the fence number grows.
-- KEYS  1 data, 2 state
-- ARGV  1 attempt, 2 stage of the entry (0: any), 3 worker, 4 lease (ms),
--       5 margin (ms that the keys live on at least), 6… definitions that the
--       caller knows
-- Returns {outcome, fence, fields and values of the state…}: 1 claimed to fold;
--       3 claimed to fail; 2 the stage is behind us; 0 another worker has it;
--       -1 gone; -2 definition unknown
-- Cost  O(listeners)
local data, state = KEYS[1], KEYS[2]
local attempt, stage, worker, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', 'definition', 'worker', 'lease', 'fence')
if have[1] ~= attempt then return {-1} end
local status = have[2]
if status ~= 'READY' and status ~= 'FOLD' and status ~= 'PUBLISHING' and status ~= 'FAILING' then
  if status == 'RUN' and tonumber(stage) < tonumber(have[3]) then return {2, 0, unpack(redis.call('HGETALL', state))} end
  return {-1}
end
if status ~= 'FAILING' then
  if stage ~= '0' and stage ~= have[3] then return {2, 0} end
  local known = false
  for i = 6, #ARGV do known = known or ARGV[i] == have[4] end
  if not known then return {-2} end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if have[6] and tonumber(have[6]) > now and have[5] ~= worker then return {0} end
if have[5] == worker then
  -- Its own call before this one, whose answer was lost.
  redis.call('HSET', state, 'lease', string.format('%.0f', now + lease))
  return {status == 'FAILING' and 3 or 1, tonumber(have[7]), unpack(redis.call('HGETALL', state))}
end

local fence = redis.call('HINCRBY', state, 'fence', 1)
if status == 'READY' then
  redis.call('HSET', state, 'status', 'FOLD')
elseif have[5] then
  -- Whoever gives a job up says so; this one has not, and counts as a try.
  redis.call('HSET', state, '@fanin:error', 'worker ' .. have[5] .. ' fell silent')
end
redis.call('HINCRBY', state, '@fanin:tries', 1)
redis.call('HDEL', state, '@fanin:next')
redis.call('HSET', state, 'worker', worker, 'lease', string.format('%.0f', now + lease))
-- However long the record's database or the sink is away: what was decided must
-- not be forgotten.
redis.call('PEXPIRE', data, ARGV[5], 'GT')
redis.call('PEXPIRE', state, ARGV[5], 'GT')
return {status == 'FAILING' and 3 or 1, fence, unpack(redis.call('HGETALL', state))}
