#!lua flags=allow-oom
-- Uses  drop
-- Prepares a task whose tries have failed to store an older dataset of its listener: removes what the tries have
-- stored, gives the listener its next generation, and notes how old the dataset is. The chunks and the completion
-- follow as those of a try.
-- KEYS  1 hash, 2 events
-- ARGV  1 id, 2 attempt, 3 listener, 4 generation, 5 when the dataset was read (ms), 6 why the task has failed, 7 cap
--       of the events, 8 entry
-- Returns {1, generation}; {0} another worker has the task; {-1} gone
-- Cost  O(chunks and columns that it had stored)
local hash, id, attempt, listener, token, at, why = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local j = read(hash)
local g = j and j.attempt == attempt and j.status == 'RUN' and generation(j, listener)
if not g then return {-1} end
local stale = at .. ' ' .. why
-- This worker's previous call, whose answer was lost.
if g == int(token + 1) and redis.call('HGET', hash, listener .. ':stale') == stale then return {1, tonumber(g)} end
if g ~= token then return {0} end
drop(hash, j, listener)
g = raise(j, listener)
-- The entry stays this worker's, also if the answer is lost: to older generations, it is not a duplicate.
redis.call('HSET', hash, 'job', line(j), listener .. ':stale', stale, listener .. ':entry', ARGV[8])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[7], '*', 'id', id, 'attempt', attempt, 'event', 'stale',
  'listener', listener, 'as_of', at, 'reason', why)
return {1, tonumber(g)}
