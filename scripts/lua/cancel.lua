#!lua flags=allow-oom
-- Decides that a job is cancelled: it becomes FAILING with the outcome CANCELLED, and
-- is appended to the fan-in stream, where the record is changed and the rest removed.
-- What waits of it in the delayed set goes, and tasks that have a memo are sent to
-- their listeners with it once more, to be cancelled elsewhere.
-- KEYS  1 state; on one node also 2 fan-in, 3 events, 4 delayed, 5… task streams, one
--       for each listener of the stage
-- ARGV  1 id, 2 attempt, 3 reason, 4 cap of the events, 5 channel that tells of it,
--       6 listeners of the stage, with commas
-- Returns {outcome, then for each task with a memo: listener, memo}: 1 cancelled, now,
--       2 before; {0, status} it is PUBLISHING, or FAILING for another reason; -1 gone;
--       -4 the stage has other listeners
-- Cost  O(listeners * log n)
local state, fanin, events, delayed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, reason = ARGV[1], ARGV[2], ARGV[3]

local have = redis.call('HMGET', state, 'attempt', 'status', 'outcome', 'listeners')
local status = have[2]
if have[1] ~= attempt then return {-1} end
local again = status == 'FAILING' and have[3] == 'CANCELLED'
if status == 'PUBLISHING' or status == 'FAILING' and not again then return {0, status} end
if not again and status ~= 'RUN' and status ~= 'READY' and status ~= 'FOLD' then return {-1} end
if have[4] ~= ARGV[6] then return {-4} end

local answer, listeners = {again and 2 or 1}, {}
for listener in string.gmatch(have[4], '[^,]+') do
  listeners[#listeners + 1] = listener
  local its = redis.call('HMGET', state, listener .. ':done', listener .. ':memo')
  if its[2] and not its[1] then
    answer[#answer + 1] = listener
    answer[#answer + 1] = its[2]
    if delayed and not again then
      redis.call('XADD', KEYS[4 + #listeners], '*', 'id', id, 'attempt', attempt, 'cancel', '1', 'memo', its[2])
    end
  end
end
if again then return answer end
redis.call('HSET', state, 'status', 'FAILING', 'outcome', 'CANCELLED', 'reason', reason)
-- Whoever folds now holds an old fence, and cannot renew its lease.
redis.call('HINCRBY', state, 'fence', 1)
redis.call('HDEL', state, 'worker', 'lease', '@fanin:next')
if delayed then
  listeners[#listeners + 1] = '@fanin'
  for _, step in ipairs(listeners) do redis.call('ZREM', delayed, id .. '/' .. attempt .. '/' .. step) end
  redis.call('XADD', fanin, '*', 'id', id, 'attempt', attempt, 'stage', 0)
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[4], '*', 'id', id, 'attempt', attempt, 'event', 'failing', 'by', '@cancel', 'reason', reason)
end
-- A hint: where it is forbidden, workers find it with their next renewal.
redis.pcall('PUBLISH', ARGV[5], id)
return answer
