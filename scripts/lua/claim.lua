#!lua flags=allow-oom
-- Claims a job whose barrier was reached, or that is to end, for the time of a
-- lease; the fence number grows.
-- KEYS  1 data, 2 state
-- ARGV  1 attempt, 2 stage of the entry (0: any), 3 worker
-- SHARED  1 lease (ms), 2 margin (ms that the keys live on at least), 3… definitions
--       that the caller knows
-- Returns {outcome, fence, status}: 1 claimed to fold; 3 claimed to fail; of others
--       the outcome alone: 2 the stage is behind us, with a second number where the
--       job runs; 0 another worker has it; -1 gone; -2 definition unknown
-- Cost  O(1)
local data, state = KEYS[1], KEYS[2]
local attempt, stage, worker, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(SHARED[1])

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', 'definition', 'worker', 'lease', 'fence',
  '@fanin:tries', '@fanin:next', 'expires')
if have[1] ~= attempt then return {-1} end
local status = have[2]
if status ~= 'READY' and status ~= 'FOLD' and status ~= 'PUBLISHING' and status ~= 'FAILING' then
  if status == 'RUN' and tonumber(stage) < tonumber(have[3]) then return {2, 1} end
  return {-1}
end
if status ~= 'FAILING' then
  if stage ~= '0' and stage ~= have[3] then return {2} end
  local known = false
  for i = 3, #SHARED do known = known or SHARED[i] == have[4] end
  if not known then return {-2} end
end
local outcome = status == 'FAILING' and 3 or 1
local now = now()
if have[6] and tonumber(have[6]) > now and have[5] ~= worker then return {0} end
if have[5] == worker then
  -- Its own call before this one, whose answer was lost.
  redis.call('HSET', state, 'lease', int(now + lease))
  return {outcome, tonumber(have[7]), status}
end

local fence = tonumber(have[7]) + 1
local fields = {'fence', int(fence), 'worker', worker, 'lease', int(now + lease),
  '@fanin:tries', int(tonumber(have[8] or 0) + 1)}
if status == 'READY' then
  status = 'FOLD'
  fields[#fields + 1] = 'status'
  fields[#fields + 1] = status
elseif have[5] then
  -- Whoever gives a job up says so; this one has not, and counts as a try.
  fields[#fields + 1] = '@fanin:error'
  fields[#fields + 1] = 'worker ' .. have[5] .. ' fell silent'
end
redis.call('HSET', state, unpack(fields))
if have[9] then redis.call('HDEL', state, '@fanin:next') end
if tonumber(have[10]) < now + tonumber(SHARED[2]) then
  -- However long the record's database or the sink is away: what was decided must
  -- not be forgotten.
  redis.call('PEXPIRE', data, SHARED[2], 'GT')
  redis.call('PEXPIRE', state, SHARED[2], 'GT')
end
return {outcome, fence, status}
