#!lua
-- Stores one chunk of a task's columns, if the task still has this owner.
-- KEYS  1 data, 2 state
-- ARGV  1 attempt, 2 listener, 3 owner, 4 lease (ms), 5 number of the chunk from
--       0, 6 its rows, 7 columns (JSON), 8 most bytes of a job's data, 9… field and
--       value of each column
-- Returns 1 stored; 2 stored before; 0 another owner; -1 gone; -3 the job's data
--       would have too many bytes
-- Errors CHUNK if a chunk before this one is missing
-- Cost  O(bytes)
local data, state = KEYS[1], KEYS[2]
local attempt, listener, owner, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local chunk = tonumber(ARGV[5])

local have = redis.call('HMGET', state, 'attempt', 'status', listener .. ':owner', listener .. ':chunks', listener .. ':done', 'expires', 'bytes')
if have[1] ~= attempt or have[2] ~= 'RUN' or have[5] or redis.call('EXISTS', data) == 0 then return -1 end
if have[3] ~= owner then return 0 end
local chunks = tonumber(have[4])
if chunk < chunks then return 2 end
if chunk > chunks then
  return redis.error_reply('CHUNK ' .. chunk .. ' of ' .. listener .. ' came after ' .. chunks .. ' chunks')
end
local bytes = 0
for i = 10, #ARGV, 2 do bytes = bytes + #ARGV[i] end
if tonumber(have[7] or 0) + bytes > tonumber(ARGV[8]) then return -3 end
for i = 10, #ARGV, 2 do redis.call('HSET', data, ARGV[i - 1], ARGV[i]) end
if chunk == 0 then redis.call('HSET', state, listener .. ':columns', ARGV[7]) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', state, listener .. ':chunks', chunk + 1, listener .. ':lease', string.format('%.0f', now + lease))
redis.call('HINCRBY', state, listener .. ':rows', ARGV[6])
redis.call('HINCRBY', state, listener .. ':bytes', bytes)
redis.call('HINCRBY', state, 'bytes', bytes)
redis.call('PEXPIREAT', data, have[6], 'GT')
return 1
