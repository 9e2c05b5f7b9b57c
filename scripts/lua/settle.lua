#!lua flags=allow-oom
-- Ends an attempt whose record is final: removes data, timeout key and deadline;
-- the state keeps its outcome for a while.
-- KEYS  1 data, 2 state, 3 timeout; on one node also 4 deadlines, 5 dead,
--       6 events, 7 fan-in
-- ARGV  1 id, 2 attempt, 3 fence, 4 outcome, such as SUCCESS, 5 the file or the
--       reason, 6 how long the state is kept (ms), 7 cap of the events,
--       8 group, 9 entry of the fan-in stream to acknowledge (empty: none)
-- Returns 1 settled, now or before; 0 another claim; -1 gone
-- Cost  O(1); the data is freed in the background
local data, state, timeout = KEYS[1], KEYS[2], KEYS[3]
local deadlines, dead, events, fanin = KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local id, attempt, fence, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local have = redis.call('HMGET', state, 'attempt', 'status', 'fence')
if have[1] ~= attempt then return -1 end
if have[2] == outcome then
  if fanin and ARGV[9] ~= '' then acknowledge(fanin, ARGV[8], ARGV[9]) end
  return 1
end
if have[3] ~= fence then return 0 end
if have[2] ~= 'FOLD' and have[2] ~= 'PUBLISHING' and have[2] ~= 'FAILING' then return -1 end
at_end('UNLINK', nil, data, timeout)
redis.call('HSET', state, 'status', outcome, outcome == 'SUCCESS' and 'file' or 'reason', ARGV[5])
redis.call('PEXPIRE', state, ARGV[6])
if deadlines then
  at_end('ZREM', deadlines, id)
  if outcome == 'FAILED' then
    redis.call('ZADD', dead, int(now()), id)
  else
    at_end('ZREM', dead, id)
  end
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[7], '*', 'id', id, 'attempt', attempt, 'event', 'finished',
    'status', outcome, outcome == 'SUCCESS' and 'file' or 'reason', ARGV[5])
end
if fanin and ARGV[9] ~= '' then acknowledge(fanin, ARGV[8], ARGV[9]) end
return 1
