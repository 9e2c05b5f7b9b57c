#!lua flags=allow-oom
-- Uses  drop
-- Gives up a task that its job can do without: counts its listener, once, as done without
-- data, and acknowledges its entry. The last listener of a stage makes the job READY and
-- appends it to the fan-in stream, or to that of large jobs.
-- KEYS  1 hash, 2 fan-in, 3 fan-in of large jobs, 4 events, 5 stream of the task
-- ARGV  1 id, 2 attempt, 3 listener, 4 generation, 5 policy of the listener, 6 reason, 7 cap
--       of the events, 8 group, 9 entry (empty: none), 10 max bytes of a job that is not large
-- Returns 2 counted, and the barrier is reached; 1 counted, now or before; 0 another worker
--       has the entry; -1 gone
-- Cost  O(chunks and columns that it had stored)
local hash, events, stream = KEYS[1], KEYS[4], KEYS[5]
local id, attempt, listener, token, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[9]

local j = read(hash)
local mine = j and j.attempt == attempt
local g, from, to
if mine then g, from, to = generation(j, listener) end
if not g or j.status ~= 'RUN' then
  acknowledge(stream, ARGV[8], entry)
  if not mine or g or redis.call('HEXISTS', hash, listener .. ':found') == 0 then return -1 end
  return j.status == 'READY' and 2 or 1
end
if g ~= token then return replaced(hash, listener, stream, ARGV[8], entry) end
drop(hash, j, listener)
redis.call('HDEL', hash, listener .. ':stale')
j.open, j.done = string.sub(j.open, 1, from) .. string.sub(j.open, to + 1), int(j.done + 1)
local ready = j.open == '|'
if ready then
  j.status = 'READY'
  -- Appended first: if that fails, the listener is not counted.
  redis.call('XADD', KEYS[tonumber(j.bytes) > tonumber(ARGV[10]) and 3 or 2], '*', 'id', id, 'attempt', attempt, 'stage', j.stage, 'bytes', j.bytes)
end
redis.call('HSET', hash, 'job', line(j), 'queryDoneCount', j.done, listener .. ':found',
  'at=' .. int(now()) .. ' omitted=' .. ARGV[5] .. ' error=' .. ARGV[6])
redis.call('XADD', events, 'MAXLEN', '~', ARGV[7], '*', 'id', id, 'attempt', attempt, 'event', 'omitted',
  'listener', listener, 'policy', ARGV[5], 'reason', ARGV[6])
acknowledge(stream, ARGV[8], entry)
return ready and 2 or 1
