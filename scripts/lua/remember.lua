#!lua flags=allow-oom
-- Uses  job
-- Stores a field of a task, if the task still has this generation: its memo, which a later
-- try must know, maybe in another process, or what its query waits for.
-- KEYS  1 hash
-- ARGV  1 attempt, 2 listener, 3 generation, 4 memo or pause, 5 its value (empty: none), 6 1: the query begins now
-- Returns 1 stored; 0 another generation; -1 gone: the job ends, or the task is done
-- Cost  O(bytes)
local j = read(KEYS[1])
if not j or j.attempt ~= ARGV[1] or j.status ~= 'RUN' then return -1 end
local g = generation(j, ARGV[2])
if not g then return -1 end
if g ~= ARGV[3] then return 0 end
local field = ARGV[2] .. ':' .. ARGV[4]
if ARGV[5] == '' then redis.call('HDEL', KEYS[1], field) else redis.call('HSET', KEYS[1], field, ARGV[5]) end
if ARGV[6] == '1' then redis.call('HSET', KEYS[1], ARGV[2] .. ':taken', int(now())) end
return 1
