#!lua flags=allow-oom
-- Takes a task: gives it an owner for the time of a lease, and clears what an
-- earlier try left in the data.
-- KEYS  1 data, 2 state
-- ARGV  1 attempt, 2 owner, 3 1: not where that owner has given it up last
-- SHARED  1 listener, 2 lease (ms), 3… definitions that the caller knows
-- Returns {1 taken, report, definition, parameters, stage, tries, last error, or what the
--       last try waited for, memo};
--       {2 done already, 1 if the barrier is reached and not claimed, stage, bytes of
--       the job's data};
--       0 another owner has it; -1 gone; -2 definition unknown
-- Cost  O(chunks and columns of the earlier try)
local data, state = KEYS[1], KEYS[2]
local attempt, owner, listener, lease, its = ARGV[1], ARGV[2], SHARED[1], tonumber(SHARED[2]), of(SHARED[1])

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', 'definition', 'report', 'parameters', its.stage, its.tries)
local report, definition, parameters = have[5], have[4], have[6]
if have[1] ~= attempt or not have[7] then return {-1} end
local before = {} -- what is there of an earlier try
if have[8] then
  before = redis.call('HMGET', state, its.done, its.owner, its.lease, its.error, its.next, its.chunks, its.columns, its.bytes, 'bytes', its.memo, its.waits, its.ends)
end
if before[1] then return {2, have[2] == 'READY' and 1 or 0, tonumber(have[3]), tonumber(before[9] or 0)} end
if have[2] ~= 'RUN' or have[7] ~= have[3] or redis.call('EXISTS', data) == 0 then return {-1} end
local known = false
for i = 3, #SHARED do known = known or SHARED[i] == definition end
if not known then return {-2, report, definition} end
local now = now()
local ends = int(now + lease)
local failure = before[11] or before[4] or ''
if before[2] == owner then
  -- Its own call before this one, whose answer was lost: nothing was appended since.
  redis.call('HSET', state, its.lease, ends)
  return {1, report, definition, parameters, tonumber(have[3]), tonumber(have[8]), failure, before[10] or ''}
end
if before[2] and tonumber(before[3]) > now or ARGV[3] == '1' and redis.call('HGET', state, its.left) == owner then return {0} end

if before[7] then
  drop(data, state, listener, before[7], before[6])
  redis.call('HINCRBY', state, 'bytes', -before[8])
elseif before[12] then
  redis.call('HDEL', state, its.ends)
end
if before[2] then
  -- Whoever gives a task up says so; this one has not, and counts as a try.
  failure = 'worker ' .. before[2] .. ' fell silent'
  redis.call('HSET', state, its.error, failure)
end
if before[5] then redis.call('HDEL', state, its.next) end
local tries = tonumber(have[8] or 0) + 1
redis.call('HSET', state, its.owner, owner, its.lease, ends, its.tries, int(tries), its.chunks, '0', its.rows, '0',
  its.bytes, '0', its.taken, int(now))
return {1, report, definition, parameters, tonumber(have[3]), tries, failure, before[10] or ''}
