#!lua flags=allow-oom
-- Appends a job once more to the fan-in stream that was decided on long ago and
-- that nobody finishes: its entry may be lost, with the stream or by hand.
-- KEYS  1 state; on one node also 2 fan-in
-- ARGV  1 id, 2 how long after its deadline, its lease, its next try and its last
--       reminder (ms)
-- Returns {outcome, attempt}: 1 appended, or to be appended; 0 not yet; -1 nothing
--       was decided
-- Cost  O(1)
local state, fanin = KEYS[1], KEYS[2]
local id, patience = ARGV[1], tonumber(ARGV[2])

local have = redis.call('HMGET', state, 'attempt', 'status', 'deadline', 'lease', '@fanin:next', 'reminded')
if have[2] ~= 'FAILING' and have[2] ~= 'PUBLISHING' then return {-1} end
local now = now()
for i = 3, 6 do
  if have[i] and now < tonumber(have[i]) + patience then return {0} end
end
redis.call('HSET', state, 'reminded', int(now))
if fanin then redis.call('XADD', fanin, '*', 'id', id, 'attempt', have[1], 'stage', 0) end
return {1, tonumber(have[1])}
