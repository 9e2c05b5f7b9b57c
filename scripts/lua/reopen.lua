#!lua flags=allow-oom
-- Uses  drop
-- Opens a listener again whose segments cannot be read, as if its try had failed: they are no longer
-- listed, and its task is retried after a delay. The job returns to RUN in the stage that it is in, and
-- claims of fan-in are void. Its entry there is left to its worker.
-- KEYS  1 hash, 2 delayed, 3 events, 4 stream of the listener
-- ARGV  1 id, 2 attempt, 3 listener, 4 its ticket when it was read, 5 delay (ms; 0: into the
--       stream at once), 6 error, 7 blame, 8 cap of the events, 9 margin (ms that the hash
--       lives on at least beyond the delay)
-- Returns 1 open again; 2 opened before, maybe by another reader; 0 the job is PUBLISHING; -1
--       gone: it is FAILING or has ended
-- Cost  O(segments of the listener + log n)
local hash, delayed, events, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, listener, delay = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[5])

local j = read(hash)
if not j or j.attempt ~= attempt or j.status == 'FAILING' then return -1 end
if j.status == 'PUBLISHING' then return 0 end
local have = redis.call('HMGET', hash, listener .. ':found', listener .. ':at', listener .. ':at_generation', listener .. ':tries',
  listener .. ':kept')
-- Another reader has opened it before. It may even be done again, with other segments.
if not have[1] or have[2] ~= ARGV[4] then return 2 end
-- The try that read it was one of an earlier attempt, if it is reused.
local counts = have[5] and 0 or 1
local due, step = int(now() + delay), id .. '/' .. attempt .. '/'
-- Sent first: if that fails, nothing has changed.
if delay > 0 then
  redis.call('ZADD', delayed, due, step .. listener)
else
  redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt)
end
redis.call('ZREM', delayed, step .. '@fanin')
drop_ticket(hash, listener, have[2])
-- The worker that listed them has an old generation, also if its last answer was lost.
j.open = j.open .. listener .. '#' .. int(have[3] + 1) .. '|'
j.status, j.done, j.fence = 'RUN', int(j.done - 1), int(j.fence + 1)
redis.call('HSET', hash, 'job', line(j), 'queryDoneCount', j.done, listener .. ':generation', have[3],
  listener .. ':tries', int((have[4] or 0) + counts), listener .. ':error', ARGV[6], listener .. ':blame', ARGV[7],
  listener .. ':next', due)
redis.call('HDEL', hash, '@fanin:owner', '@fanin:entry', '@fanin:next')
for _, field in ipairs({'found', 'kept', 'stale', 'owner', 'last_owner', 'entry', 'lease', 'waits'}) do
  redis.call('HDEL', hash, listener .. ':' .. field)
end
redis.call('PEXPIRE', hash, delay + ARGV[9], 'GT')
redis.call('XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'id', id, 'attempt', attempt, 'event', 'retry',
  'step', listener, 'counts', counts, 'next', due, 'error', ARGV[6])
return 1
