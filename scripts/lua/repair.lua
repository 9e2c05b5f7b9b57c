#!lua flags=allow-oom
-- Uses  job
-- Restores what Redis has lost of a running job: the deadline of a job that has a state. The id of a
-- job without a state is pushed again, so that its record decides what comes next.
-- KEYS  1 hash, 2 deadlines, 3 jobs, 4 wake
-- ARGV  1 id
-- Returns 1 pushed again; 2 its deadline is restored; -1 the job has both, or does not run
-- Cost  O(log n)
local hash, deadlines, id = KEYS[1], KEYS[2], ARGV[1]

local j, deadline = read(hash), redis.call('ZSCORE', deadlines, id)
if not j == not deadline then return -1 end
if j then
  redis.call('ZADD', deadlines, j.deadline, id)
  wake_by(KEYS[4], j.deadline)
  return 2
end
redis.call('XADD', KEYS[3], '*', 'id', id)
redis.call('UNLINK', hash)
redis.call('ZREM', deadlines, id)
return 1
