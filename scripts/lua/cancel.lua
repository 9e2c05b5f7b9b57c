#!lua flags=allow-oom
-- Uses  job
-- Decides that a job is cancelled: it becomes FAILING with the outcome CANCELLED, and is
-- appended to the fan-in stream, where the record is changed and the rest removed. Its steps
-- in the delayed set are removed, and tasks with a memo are sent to their
-- listeners once more, to be cancelled at their source.
-- KEYS  1 hash, 2 fan-in, 3 events, 4 delayed, 5… task streams, one for every listener of all
--       stages
-- ARGV  1 id, 2 attempt, 3 reason, 4 cap of the events, 5 channel for the hint,
--       6 listeners, with commas, 7 margin (ms that the hash lives on at least)
-- Returns {outcome}: 1 cancelled now, 2 before; {0, status} it is PUBLISHING, or FAILING for
--       another reason; -1 gone; -4 it has other listeners
-- Cost  O(listeners * log n)
local hash, fanin, events, delayed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, reason = ARGV[1], ARGV[2], ARGV[3]

local j = read(hash)
if not j or j.attempt ~= attempt then return {-1} end
local have, status = redis.call('HMGET', hash, 'outcome', 'listeners'), j.status
if status == 'FAILING' and have[1] == 'CANCELLED' then return {2} end
if status == 'PUBLISHING' or status == 'FAILING' then return {0, status} end
if all(have[2]) ~= ARGV[6] then return {-4} end
-- Sent first: if that fails, nothing has changed.
redis.call('XADD', fanin, '*', 'id', id, 'attempt', attempt, 'stage', 0)
local n = 0
for listener in string.gmatch(ARGV[6], '[^,]+') do
  n = n + 1
  local memo = generation(j, listener) and redis.call('HGET', hash, listener .. ':memo')
  if memo then redis.call('XADD', KEYS[4 + n], '*', 'id', id, 'attempt', attempt, 'cancel', '1', 'memo', memo) end
  redis.call('ZREM', delayed, id .. '/' .. attempt .. '/' .. listener)
end
redis.call('ZREM', delayed, id .. '/' .. attempt .. '/@fanin')
-- A worker that is folding has an old fence, and cannot renew its lease.
j.status, j.fence = 'FAILING', int(j.fence + 1)
redis.call('HSET', hash, 'job', line(j), 'outcome', 'CANCELLED', 'reason', reason)
redis.call('HDEL', hash, '@fanin:owner', '@fanin:entry', '@fanin:next')
redis.call('PEXPIRE', hash, ARGV[7], 'GT')
redis.call('XADD', events, 'MAXLEN', '~', ARGV[4], '*', 'id', id, 'attempt', attempt, 'event', 'failing', 'by', '@cancel', 'reason', reason)
-- A hint: if PUBLISH is denied or the message is missed, workers stop at their next renewal.
redis.pcall('PUBLISH', ARGV[5], id)
return {1}
