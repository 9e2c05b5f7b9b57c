#!lua flags=allow-oom
-- Uses  job
-- Sends a step's message that Redis has lost again, unless the step waits for its next
-- try.
-- KEYS  1 hash, 2 delayed, 3 stream of the step
-- ARGV  1 id, 2 attempt, 3 step: a listener's name or @fanin, 4 an entry of it that was read
--       and is not pending, which is removed (empty: none)
-- Returns 1 sent; 0 it waits; -1 it is not open
-- Cost  O(log n)
local hash, delayed, stream = KEYS[1], KEYS[2], KEYS[3]
local id, attempt, step, dead = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local j = read(hash)
if not j or j.attempt ~= attempt then return -1 end
local fold = step == '@fanin'
if fold and j.status == 'RUN' or not fold and (j.status ~= 'RUN' or not generation(j, step)) then return -1 end
for _, name in ipairs(fold and {'@fanin', '@record'} or {step}) do
  if redis.call('ZSCORE', delayed, id .. '/' .. attempt .. '/' .. name) then return 0 end
end
if not fold and tonumber(redis.call('HGET', hash, step .. ':lease') or 0) > now() then return 0 end
if fold then
  redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt, 'stage', 0)
else
  redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt)
end
if dead ~= '' then redis.call('XDEL', stream, dead) end
-- The loss of a message is not a worker's fault.
redis.call('HSETNX', hash, step .. ':next', int(now()))
return 1
