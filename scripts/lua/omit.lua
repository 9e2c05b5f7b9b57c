#!lua flags=allow-oom
-- Gives up a task that its job can do without: counts its listener, once, as done
-- without data; the last listener of a stage makes the job READY and appends it to
-- the fan-in stream.
-- KEYS  1 data, 2 state; on one node also 3 fan-in, 4 events
-- ARGV  1 id, 2 attempt, 3 listener, 4 owner, 5 policy of the listener, 6 reason,
--       7 cap of the events
-- Returns {outcome, stage, bytes of the job's data}: 2 the barrier is reached and nobody
--       has claimed the job yet, 1 counted, now or before; of the others the outcome
--       alone: 0 another owner; -1 gone
-- Cost  O(chunks and columns that it had stored)
local data, state, fanin, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, listener, owner, its = ARGV[1], ARGV[2], ARGV[3], ARGV[4], of(ARGV[3])

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', its.owner, its.done, its.chunks, its.columns,
  its.bytes, 'bytes', 'done', 'target')
if have[1] ~= attempt then return {-1} end
local stage, bytes = tonumber(have[3]), tonumber(have[9] or 0)
if have[5] then return {have[2] == 'READY' and 2 or 1, stage, bytes} end
if have[2] ~= 'RUN' then return {-1} end
if have[4] ~= owner then return {0} end
if redis.call('EXISTS', data) == 0 then return {-1} end

if have[7] then
  drop(data, state, listener, have[7], have[6])
  bytes = bytes - tonumber(have[8])
end
local done = int(tonumber(have[10]) + 1)
local ready = done == have[11]
local fields = {'done', done, its.done, int(now()), its.chunks, '0', its.rows, '0', its.bytes, '0', 'bytes', int(bytes),
  its.policy, ARGV[5], its.failed, ARGV[6]}
if ready then
  fields[#fields + 1] = 'status'
  fields[#fields + 1] = 'READY'
  -- Appended first: where that fails, the listener is not counted.
  local entry = {'id', id, 'attempt', attempt, 'stage', have[3]}
  if bytes > 0 then
    entry[7], entry[8] = 'bytes', int(bytes)
  end
  if fanin then redis.call('XADD', fanin, '*', unpack(entry)) end
end
redis.call('HSET', state, unpack(fields))
redis.call('HSET', data, 'queryDoneCount', done)
if events then
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[7], '*', 'id', id, 'attempt', attempt, 'event', 'omitted',
    'listener', listener, 'policy', ARGV[5], 'reason', ARGV[6])
end
return {ready and 2 or 1, stage, bytes}
