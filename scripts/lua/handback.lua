#!lua flags=allow-oom
-- Leaves a step to another process after a delay, because this one does not have the job's
-- definition, and acknowledges its entry. No try is counted.
-- KEYS  1 hash, 2 delayed, 3 stream of the step
-- ARGV  1 id, 2 attempt, 3 step: a listener's name or @fanin, 4 delay (ms), 5 group, 6 entry
--       (empty: none), 7 consumer
-- Returns 1 left; 0 another worker has taken the entry over; -1 gone
-- Cost  O(log n)
local hash, id, attempt, step = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

if ARGV[6] ~= '' then
  local pending = redis.pcall('XPENDING', KEYS[3], ARGV[5], ARGV[6], ARGV[6], 1)
  if not pending.err and pending[1] and pending[1][2] ~= ARGV[7] then return 0 end
end
local mine = string.match(redis.call('HGET', hash, 'job') or '', '^%d+') == attempt
if mine then
  local due = int(now() + ARGV[4])
  redis.call('ZADD', KEYS[2], due, id .. '/' .. attempt .. '/' .. step)
  redis.call('HSET', hash, step .. ':next', due)
end
acknowledge(KEYS[3], ARGV[5], ARGV[6])
return mine and 1 or -1
