#!lua
-- Stores one chunk of a task's columns, if the task still has this owner. The last
-- chunk counts the listener, once, and acknowledges the task's entry; the last
-- listener of a stage makes the job READY and appends it to the fan-in stream.
-- KEYS  1 data, 2 state; on one node also 3 fan-in, 4 events, 5 stream of the task
-- ARGV  1 id, 2 attempt, 3 listener, 4 owner, 5 lease (ms), 6 number of the chunk
--       from 0, 7 its rows, 8 columns (JSON), 9 most bytes of a job's data,
--       10 duration (ms; empty: not the last chunk), 11 cap of the events,
--       12 group, 13 entry (empty: none), 14… field and value of each column
-- Returns {outcome, stage}: of the last chunk: 2 the barrier is reached and nobody
--       has claimed the job yet, 1 counted, now or before; of another one: 1 stored,
--       2 stored before; of each: 0 another owner; -1 gone; -3 the job's data would
--       have too many bytes
-- Errors CHUNK if a chunk before this one is missing
-- Cost  O(bytes)
local data, state, fanin, events, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, attempt, listener, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local chunk, last = tonumber(ARGV[6]), ARGV[10] ~= ''

local function acknowledge()
  if stream and ARGV[13] ~= '' then
    -- Where that fails, the entry comes again and finds its effect.
    redis.pcall('XACK', stream, ARGV[12], ARGV[13])
    redis.pcall('XDEL', stream, ARGV[13])
  end
end

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', listener .. ':owner', listener .. ':done',
  listener .. ':chunks', listener .. ':rows', listener .. ':bytes', 'bytes', 'done', 'target')
if have[1] ~= attempt then return {-1} end
local stage = tonumber(have[3])
if last and have[5] then
  acknowledge()
  return {have[2] == 'READY' and 2 or 1, stage}
end
if have[2] ~= 'RUN' or have[5] or redis.call('EXISTS', data) == 0 then return {-1} end
if have[4] ~= owner then return {0} end
local chunks, rows = tonumber(have[6]), tonumber(have[7])
if chunk > chunks or last and chunk + 1 < chunks then
  return redis.error_reply('CHUNK ' .. chunk .. ' of ' .. listener .. ' came after ' .. chunks .. ' chunks')
end
local stored = chunk < chunks
if stored and not last then return {2, stage} end

local fields = {}
if not stored then
  local bytes = 0
  for i = 14, #ARGV, 2 do bytes = bytes + #ARGV[i + 1] end
  if tonumber(have[9] or 0) + bytes > tonumber(ARGV[9]) then return {-3} end
  rows = rows + tonumber(ARGV[7])
  fields = {listener .. ':chunks', chunk + 1, listener .. ':rows', rows,
    listener .. ':bytes', tonumber(have[8]) + bytes, 'bytes', tonumber(have[9] or 0) + bytes}
  if chunk == 0 then
    fields[#fields + 1] = listener .. ':columns'
    fields[#fields + 1] = ARGV[8]
  end
end
if not stored then
  -- Lua unpacks no more than 8000 values at once.
  for i = 14, #ARGV, 4000 do redis.call('HSET', data, unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not last then
  fields[#fields + 1] = listener .. ':lease'
  fields[#fields + 1] = string.format('%.0f', now + tonumber(ARGV[5]))
  redis.call('HSET', state, unpack(fields))
  return {1, stage}
end
local done = tonumber(have[10]) + 1
local ready = done == tonumber(have[11])
redis.call('HSET', data, 'queryDoneCount', done)
for _, field in ipairs({'done', done, listener .. ':done', string.format('%.0f', now), listener .. ':ms', ARGV[10]}) do
  fields[#fields + 1] = field
end
if ready then
  fields[#fields + 1] = 'status'
  fields[#fields + 1] = 'READY'
end
-- Appended first: where that fails, the listener is not counted.
if ready and fanin then redis.call('XADD', fanin, '*', 'id', id, 'attempt', attempt, 'stage', stage) end
redis.call('HSET', state, unpack(fields))
if events then
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[11], '*', 'id', id, 'attempt', attempt, 'event', 'done',
    'listener', listener, 'rows', rows)
end
acknowledge()
return {ready and 2 or 1, stage}
