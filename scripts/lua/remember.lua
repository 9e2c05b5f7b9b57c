#!lua flags=allow-oom
-- Stores the memo of a task, if it is still the owner's: what a later try, perhaps of
-- another process, must know.
-- KEYS  1 state
-- ARGV  1 attempt, 2 owner, 3 memo
-- SHARED  1 listener
-- Returns 1 stored; 0 another owner; -1 gone: the job ends, or has the data of the task
-- Cost  O(bytes)
local state, attempt, owner, memo, its = KEYS[1], ARGV[1], ARGV[2], ARGV[3], of(SHARED[1])

local have = redis.call('HMGET', state, 'attempt', 'status', its.owner, its.done)
if have[1] ~= attempt or have[2] ~= 'RUN' or have[4] then return -1 end
if have[3] ~= owner then return 0 end
redis.call('HSET', state, its.memo, memo)
return 1
