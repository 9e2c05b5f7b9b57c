#!lua flags=allow-oom
-- Sends the message of a step once more that Redis has lost, unless somebody works on
-- the step or it waits for its time.
-- KEYS  1 state, 2 delayed, 3 stream of the step
-- ARGV  1 id, 2 attempt, 3 step: a listener's name or @fanin, 4 an entry of it that was
--       read and is nobody's, which is removed (empty: none)
-- Returns 1 sent; 0 somebody works on the step, or it waits; -1 it is not open
-- Cost  O(log n)
local state, delayed, stream = KEYS[1], KEYS[2], KEYS[3]
local id, attempt, step, dead = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local its, fold = of(step), step == '@fanin'
local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', its.stage, its.done, fold and 'lease' or its.lease)
local status, steps = have[2], {step}
if have[1] ~= attempt then return -1 end
if fold then
  if status ~= 'READY' and status ~= 'FOLD' and status ~= 'PUBLISHING' and status ~= 'FAILING' then return -1 end
  steps = {'@fanin', '@record'}
elseif status ~= 'RUN' or have[4] ~= have[3] or have[5] then
  return -1
end
if have[6] and tonumber(have[6]) > now() then return 0 end
for _, name in ipairs(steps) do
  if redis.call('ZSCORE', delayed, id .. '/' .. attempt .. '/' .. name) then return 0 end
end
if dead ~= '' then redis.call('XDEL', stream, dead) end
if fold then
  redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt, 'stage', 0)
else
  redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt)
end
return 1
