#!lua flags=allow-oom
-- Pushes a job again whose state is lost while its deadline has passed: its
-- record decides what comes next.
-- KEYS  1 state; on one node also 2 deadlines, 3 jobs
-- ARGV  1 id
-- Returns 1 pushed, or to be pushed; -1 it has a state, or another deadline
-- Cost  O(log n)
local state, deadlines, jobs = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]

if redis.call('EXISTS', state) == 1 then return -1 end
if not deadlines then return 1 end
local now = now()
local deadline = redis.call('ZSCORE', deadlines, id)
if not deadline or tonumber(deadline) > now then return -1 end
redis.call('ZREM', deadlines, id)
redis.call('XADD', jobs, '*', 'id', id)
return 1
