#!lua flags=allow-oom
-- Leaves a step to another process after a delay, since this one does not have the job's
-- definition, and acknowledges its entry. No try is counted.
-- KEYS  1 hash, 2 delayed, 3 stream of the step
-- ARGV  1 id, 2 attempt, 3 step: a listener's name or @fanin, 4 delay (ms), 5 group, 6 entry
-- Returns 1
-- Cost  O(log n)
local hash, due = KEYS[1], int(now() + ARGV[4])

redis.call('ZADD', KEYS[2], due, ARGV[1] .. '/' .. ARGV[2] .. '/' .. ARGV[3])
if string.match(text('HGET', hash, 'job') or '', '^%d+') == ARGV[2] then redis.call('HSET', hash, ARGV[3] .. ':next', due) end
acknowledge(KEYS[3], ARGV[5], ARGV[6])
return 1
