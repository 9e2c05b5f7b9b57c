#!lua flags=allow-oom
-- Uses  job
-- Preempts a running job of a full Redis: its attempt ends without a result, what it holds is freed
-- for an older job, and its id is pushed again later, so that its record starts the next attempt.
-- Both jobs become contenders, and keep the time of their first start. Tasks with a memo are sent to
-- their listeners once more, to be cancelled at their source.
-- KEYS  1 hash, 2 tombstone, 3 deadlines, 4 delayed, 5 events, 6 contenders, 7 full, 8… task
--       streams, one for every listener of all stages
-- ARGV  1 id, 2 attempt, 3 id of the older job (empty: it is in another partition), 4 its first start (ms), 5 min and 6 max delay (ms): it is
--       an eighth of the time since the first start, 7 how long the tombstone lasts (ms), 8 how long
--       Redis counts as full (ms), 9 how long contenders are kept (ms), 10 cap of the events, 11
--       channel for the hint, 12 listeners, with commas
-- Returns 1 preempted, now or before; 0 all of its data is complete, or it ends; -1 gone; -4 it
--       has other listeners
-- Cost  O(listeners * log n); the data is freed in the background
local hash, tombstone, delayed, contenders, id, attempt = KEYS[1], KEYS[2], KEYS[4], KEYS[6], ARGV[1], ARGV[2]

local j = read(hash)
if not j then
  local was, status = string.match(text('GET', tombstone) or '', '^(%d+) (%u+)')
  return was == attempt and status == 'PREEMPTED' and 1 or -1
end
if j.attempt ~= attempt then return -1 end
if j.status ~= 'RUN' then return 0 end
if all(redis.call('HGET', hash, 'listeners')) ~= ARGV[12] then return -4 end
redis.call('ZREMRANGEBYSCORE', contenders, '-inf', int(now() - ARGV[9]))
redis.call('ZADD', contenders, 'NX', j.started, id)
if ARGV[3] ~= '' then redis.call('ZADD', contenders, 'NX', ARGV[4], ARGV[3]) end
redis.call('PEXPIRE', contenders, ARGV[9])
redis.call('SET', KEYS[7], int(now()), 'PX', ARGV[8])
local waited = now() - redis.call('ZSCORE', contenders, id)
local due = int(now() + math.max(tonumber(ARGV[5]), math.min(tonumber(ARGV[6]), math.floor(waited / 8))))
redis.call('ZADD', delayed, due, id) -- first: if that fails, the job runs on
local n = 0
for listener in string.gmatch(ARGV[12], '[^,]+') do
  n = n + 1
  local memo = generation(j, listener) and redis.call('HGET', hash, listener .. ':memo')
  if memo then redis.call('XADD', KEYS[7 + n], '*', 'id', id, 'attempt', attempt, 'cancel', '1', 'memo', memo) end
  redis.call('ZREM', delayed, id .. '/' .. attempt .. '/' .. listener)
end
redis.call('SET', tombstone, attempt .. ' PREEMPTED ' .. j.of .. ' - ' .. j.bytes .. ' bytes for ' .. ARGV[3], 'PX', ARGV[7])
redis.call('UNLINK', hash)
redis.call('ZREM', KEYS[3], id)
redis.call('XADD', KEYS[5], 'MAXLEN', '~', ARGV[10], '*', 'id', id, 'attempt', attempt, 'event', 'preempted',
  'bytes', j.bytes, 'for', ARGV[3], 'next', due)
-- A hint: if PUBLISH is denied or the message is missed, workers stop at their next renewal.
redis.pcall('PUBLISH', ARGV[11], id)
return 1
