#!lua flags=allow-oom
-- Counts a listener's task once; the last one of a stage makes the job READY and
-- appends it to the fan-in stream.
-- KEYS  1 data, 2 state; on one node also 3 fan-in, 4 events
-- ARGV  1 id, 2 attempt, 3 listener, 4 owner, 5 chunks that it stored,
--       6 duration (ms), 7 cap of the events
-- Returns {outcome, stage}: 2 the barrier is reached and nobody has claimed the
--       job yet; 1 counted; 0 another owner; -1 gone
-- Errors CHUNK if not all of its chunks are there
-- Cost  O(1)
local data, state, fanin, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, listener, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', listener .. ':owner', listener .. ':done',
  listener .. ':chunks', 'target', 'expires', listener .. ':rows')
if have[1] ~= attempt then return {-1} end
if have[5] then return {have[2] == 'READY' and 2 or 1, tonumber(have[3])} end
if have[2] ~= 'RUN' or redis.call('EXISTS', data) == 0 then return {-1} end
if have[4] ~= owner then return {0} end
if have[6] ~= ARGV[5] then
  return redis.error_reply('CHUNK ' .. listener .. ' has ' .. have[6] .. ' chunks and not ' .. ARGV[5])
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', state, listener .. ':done', string.format('%.0f', now), listener .. ':ms', ARGV[6])
local done = redis.call('HINCRBY', state, 'done', 1)
redis.call('HSET', data, 'queryDoneCount', done)
redis.call('PEXPIREAT', data, have[8], 'GT')
redis.call('PEXPIREAT', state, have[8], 'GT')
if events then
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[7], '*', 'id', id, 'attempt', attempt, 'event', 'done',
    'listener', listener, 'rows', have[9])
end
if done < tonumber(have[7]) then return {1, tonumber(have[3])} end
redis.call('HSET', state, 'status', 'READY')
if fanin then redis.call('XADD', fanin, '*', 'id', id, 'attempt', attempt, 'stage', have[3]) end
return {2, tonumber(have[3])}
