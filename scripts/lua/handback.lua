#!lua flags=allow-oom
-- Leaves a step to another process after a delay, since this one does not have the job's
-- definition, and acknowledges its entry. No try is counted.
-- KEYS  1 hash, 2 delayed, 3 stream of the step
-- ARGV  1 id, 2 attempt, 3 step: a listener's name or @fanin, 4 delay (ms), 5 group, 6 entry
-- Returns 1 left; -1 gone
-- Cost  O(log n)
local hash, id, attempt, step = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

local mine = string.match(redis.call('HGET', hash, 'job') or '', '^%d+') == attempt
if mine then
  local due = int(now() + ARGV[4])
  redis.call('ZADD', KEYS[2], due, id .. '/' .. attempt .. '/' .. step)
  redis.call('HSET', hash, step .. ':next', due)
end
acknowledge(KEYS[3], ARGV[5], ARGV[6])
return mine and 1 or -1
