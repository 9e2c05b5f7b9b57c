#!lua flags=allow-oom
-- Ends an attempt whose record is final: removes data, timeout key and deadline;
-- the state keeps its outcome for a while.
-- KEYS  1 data, 2 state, 3 timeout
-- ARGV  1 id, 2 attempt, 3 fence, 4 the file or the reason, 5 entry of the fan-in
--       stream to acknowledge (empty: none)
-- SHARED_KEYS  on one node: 1 deadlines, 2 dead, 3 events, 4 fan-in
-- SHARED  1 outcome, such as SUCCESS, 2 how long the state is kept (ms), 3 cap of the
--       events, 4 group
-- Returns 1 settled, now or before; 0 another claim; -1 gone
-- Cost  O(1); the data is freed in the background
local data, state, timeout = KEYS[1], KEYS[2], KEYS[3]
local deadlines, dead, events, fanin = unpack(SHARED_KEYS)
local id, attempt, fence, detail, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4], SHARED[1]

local have = redis.call('HMGET', state, 'attempt', 'status', 'fence')
if have[1] ~= attempt then return -1 end
if have[2] == outcome then
  if fanin and ARGV[5] ~= '' then acknowledge(fanin, SHARED[4], ARGV[5]) end
  return 1
end
if have[3] ~= fence then return 0 end
if have[2] ~= 'FOLD' and have[2] ~= 'PUBLISHING' and have[2] ~= 'FAILING' then return -1 end
at_end('UNLINK', nil, data, timeout)
local what = (outcome == 'SUCCESS' or outcome == 'PARTIAL') and 'file' or 'reason'
redis.call('HSET', state, 'status', outcome, what, detail)
redis.call('PEXPIRE', state, SHARED[2])
if deadlines then
  at_end('ZREM', deadlines, id)
  if outcome == 'FAILED' then
    redis.call('ZADD', dead, int(now()), id)
  else
    at_end('ZREM', dead, id)
  end
  redis.call('XADD', events, 'MAXLEN', '~', SHARED[3], '*', 'id', id, 'attempt', attempt, 'event', 'finished',
    'status', outcome, what, detail)
end
if fanin and ARGV[5] ~= '' then acknowledge(fanin, SHARED[4], ARGV[5]) end
return 1
