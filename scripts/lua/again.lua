#!lua flags=allow-oom
-- Pushes the id of a running job whose hash Redis has lost: its record decides what comes next.
-- KEYS  1 hash, 2 deadlines, 3 jobs
-- ARGV  1 id
-- Returns 1 pushed; -1 the job has its hash, or does not run
-- Cost  O(log n)
local hash, deadlines, id = KEYS[1], KEYS[2], ARGV[1]

if redis.call('HEXISTS', hash, 'job') == 1 or not redis.call('ZSCORE', deadlines, id) then return -1 end
redis.call('XADD', KEYS[3], '*', 'id', id)
redis.call('UNLINK', hash)
redis.call('ZREM', deadlines, id)
return 1
