#!lua flags=allow-oom
-- Uses  job
-- Stores the memo of a task, if the task still has this generation: what a later try,
-- maybe in another process, must know.
-- KEYS  1 hash
-- ARGV  1 attempt, 2 listener, 3 generation, 4 memo
-- Returns 1 stored; 0 another generation; -1 gone: the job ends, or the task is done
-- Cost  O(bytes)
local j = read(KEYS[1])
if not j or j.attempt ~= ARGV[1] or j.status ~= 'RUN' then return -1 end
local g = generation(j, ARGV[2])
if not g then return -1 end
if g ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], ARGV[2] .. ':memo', ARGV[4])
return 1
