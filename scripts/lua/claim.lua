#!lua flags=allow-oom
-- Claims a job whose barrier was reached, or that is to end, for the time of a
-- lease; the fence number grows.
-- KEYS  1 data, 2 state
-- ARGV  1 attempt, 2 stage of the entry (0: any), 3 worker, 4 lease (ms),
--       5 margin (ms that the keys live on at least), 6 most bytes of data to
--       return, 7… definitions that the caller knows
-- Returns {outcome, fence, {fields and values of the state…}, {those of the data…,
--       of a claim to fold, unless there are too many bytes}}: 1 claimed to fold;
--       3 claimed to fail; 2 the stage is behind us; 0 another worker has it;
--       -1 gone; -2 definition unknown
-- Cost  O(listeners + bytes returned)
local data, state = KEYS[1], KEYS[2]
local attempt, stage, worker, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', 'definition', 'worker', 'lease', 'fence',
  '@fanin:tries', '@fanin:next', 'expires', 'bytes')
if have[1] ~= attempt then return {-1} end
local status = have[2]
if status ~= 'READY' and status ~= 'FOLD' and status ~= 'PUBLISHING' and status ~= 'FAILING' then
  if status == 'RUN' and tonumber(stage) < tonumber(have[3]) then return {2, 0, redis.call('HGETALL', state)} end
  return {-1}
end
if status ~= 'FAILING' then
  if stage ~= '0' and stage ~= have[3] then return {2, 0} end
  local known = false
  for i = 7, #ARGV do known = known or ARGV[i] == have[4] end
  if not known then return {-2} end
end
local function claimed(fence)
  local fields = redis.call('HGETALL', state)
  if status == 'FAILING' then return {3, fence, fields} end
  if tonumber(have[11] or 0) > tonumber(ARGV[6]) then return {1, fence, fields} end
  return {1, fence, fields, redis.call('HGETALL', data)}
end
local now = now()
if have[6] and tonumber(have[6]) > now and have[5] ~= worker then return {0} end
if have[5] == worker then
  -- Its own call before this one, whose answer was lost.
  redis.call('HSET', state, 'lease', int(now + lease))
  return claimed(tonumber(have[7]))
end

local fence = tonumber(have[7]) + 1
local fields = {'fence', int(fence), 'worker', worker, 'lease', int(now + lease),
  '@fanin:tries', int(tonumber(have[8] or 0) + 1)}
if status == 'READY' then
  fields[#fields + 1] = 'status'
  fields[#fields + 1] = 'FOLD'
elseif have[5] then
  -- Whoever gives a job up says so; this one has not, and counts as a try.
  fields[#fields + 1] = '@fanin:error'
  fields[#fields + 1] = 'worker ' .. have[5] .. ' fell silent'
end
redis.call('HSET', state, unpack(fields))
if have[9] then redis.call('HDEL', state, '@fanin:next') end
if tonumber(have[10]) < now + tonumber(ARGV[5]) then
  -- However long the record's database or the sink is away: what was decided must
  -- not be forgotten.
  redis.call('PEXPIRE', data, ARGV[5], 'GT')
  redis.call('PEXPIRE', state, ARGV[5], 'GT')
end
return claimed(fence)
