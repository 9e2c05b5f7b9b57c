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
local chunk, last, its = tonumber(ARGV[6]), ARGV[10] ~= '', of(listener)

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', its.owner, its.done,
  its.chunks, its.rows, its.bytes, 'bytes', 'done', 'target')
if have[1] ~= attempt then return {-1} end
local stage = tonumber(have[3])
if last and have[5] then
  if stream and ARGV[13] ~= '' then acknowledge(stream, ARGV[12], ARGV[13]) end
  return {have[2] == 'READY' and 2 or 1, stage}
end
if have[2] ~= 'RUN' or have[5] then return {-1} end
if have[4] ~= owner then return {0} end
local chunks, rows = tonumber(have[6]), have[7]
if chunk > chunks or last and chunk + 1 < chunks then
  return redis.error_reply('CHUNK ' .. chunk .. ' of ' .. listener .. ' came after ' .. chunks .. ' chunks')
end
local stored = chunk < chunks
if stored and not last then return {2, stage} end

local done = have[10]
if last then done = int(tonumber(done) + 1) end
local ready = last and done == have[11]
local fields, columns = {}, {'queryDoneCount', done}
if not stored then
  local bytes = 0
  for i = 15, #ARGV, 2 do bytes = bytes + #ARGV[i] end
  local all = tonumber(have[9] or 0) + bytes
  if all > tonumber(ARGV[9]) then return {-3} end
  rows = int(tonumber(rows) + tonumber(ARGV[7]))
  fields = {its.chunks, int(chunk + 1), its.rows, rows,
    its.bytes, int(tonumber(have[8]) + bytes), 'bytes', int(all)}
  if chunk == 0 then
    fields[#fields + 1] = its.columns
    fields[#fields + 1] = ARGV[8]
  end
  -- Lua unpacks no more than 8000 values at once.
  for i = 4014, #ARGV, 4000 do redis.call('HSET', data, unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
  for i = 14, math.min(4013, #ARGV) do columns[#columns + 1] = ARGV[i] end
end
if redis.call('HSET', data, unpack(columns)) == #columns / 2 then
  -- The count is new, so the data was gone.
  redis.call('UNLINK', data)
  return {-1}
end
local now = now()
if not last then
  fields[#fields + 1] = its.lease
  fields[#fields + 1] = int(now + tonumber(ARGV[5]))
  redis.call('HSET', state, unpack(fields))
  return {1, stage}
end
for _, field in ipairs({'done', done, its.done, int(now), its.ms, ARGV[10]}) do
  fields[#fields + 1] = field
end
if ready then
  fields[#fields + 1] = 'status'
  fields[#fields + 1] = 'READY'
  -- Appended first: where that fails, the listener is not counted.
  if fanin then redis.call('XADD', fanin, '*', 'id', id, 'attempt', attempt, 'stage', have[3]) end
end
redis.call('HSET', state, unpack(fields))
if events then
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[11], '*', 'id', id, 'attempt', attempt, 'event', 'done',
    'listener', listener, 'rows', rows)
end
if stream and ARGV[13] ~= '' then acknowledge(stream, ARGV[12], ARGV[13]) end
return {ready and 2 or 1, stage}
