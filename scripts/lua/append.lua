#!lua
-- Stores one chunk of a task's columns, if the task still has this owner. The last
-- chunk counts the listener, once, and acknowledges the task's entry; the last
-- listener of a stage makes the job READY and appends it to the fan-in stream.
-- KEYS  1 data, 2 state
-- ARGV  1 id, 2 attempt, 3 owner, 4 number of the chunk from 0, 5 its rows, 6 columns
--       (JSON), 7 duration (ms; empty: not the last chunk), 8 entry (empty: none),
--       9… field and value of each column; none where the last chunk is stored
-- SHARED_KEYS  on one node: 1 fan-in, 2 events, 3 stream of the task
-- SHARED  1 listener, 2 lease (ms), 3 most bytes of a job's data, 4 cap of the events,
--       5 group
-- Returns {outcome, stage, bytes of the job's data}: of the last chunk: 2 the barrier is
--       reached and nobody has claimed the job yet, 1 counted, now or before; of
--       another one, without the bytes: 1 stored, 2 stored before; of each, the
--       outcome alone: 0 another owner; -1 gone; -3 the job's data would have too many
--       bytes
-- Errors CHUNK if a chunk before this one is missing
-- Cost  O(bytes)
local data, state, fanin, events, stream = KEYS[1], KEYS[2], SHARED_KEYS[1], SHARED_KEYS[2], SHARED_KEYS[3]
local id, attempt, owner, listener = ARGV[1], ARGV[2], ARGV[3], SHARED[1]
local chunk, last, its = tonumber(ARGV[4]), ARGV[7] ~= '', of(listener)

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', its.owner, its.done,
  its.chunks, its.rows, its.bytes, 'bytes', 'done', 'target')
if have[1] ~= attempt then return {-1} end
local stage = tonumber(have[3])
if last and have[5] then
  if stream and ARGV[8] ~= '' then acknowledge(stream, SHARED[5], ARGV[8]) end
  return {have[2] == 'READY' and 2 or 1, stage, tonumber(have[9] or 0)}
end
if have[2] ~= 'RUN' or have[5] then return {-1} end
if have[4] ~= owner then return {0} end
local chunks, rows = tonumber(have[6]), have[7]
local stored, given = chunk < chunks, #ARGV > 8
if chunk > chunks or last and (chunk + 1 < chunks or not stored and not given) then
  return redis.error_reply('CHUNK ' .. chunk .. ' of ' .. listener .. ' came after ' .. chunks .. ' chunks')
end
if stored and not last then return {2, stage} end

local done = have[10]
if last then done = int(tonumber(done) + 1) end
local ready = last and done == have[11]
local fields, columns, all = {}, {'queryDoneCount', done}, have[9] or '0'
if not stored then
  local bytes = 0
  for i = 10, #ARGV, 2 do bytes = bytes + #ARGV[i] end
  all = tonumber(all) + bytes
  if all > tonumber(SHARED[3]) then return {-3} end
  all = int(all)
  rows = int(tonumber(rows) + tonumber(ARGV[5]))
  fields = {its.chunks, int(chunk + 1), its.rows, rows,
    its.bytes, int(tonumber(have[8]) + bytes), 'bytes', all}
  if chunk == 0 then
    fields[#fields + 1] = its.columns
    fields[#fields + 1] = ARGV[6]
  end
  -- Lua unpacks no more than 8000 values at once.
  for i = 4009, #ARGV, 4000 do redis.call('HSET', data, unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
  for i = 9, math.min(4008, #ARGV) do columns[#columns + 1] = ARGV[i] end
end
if redis.call('HSET', data, unpack(columns)) == #columns / 2 then
  -- The count is new, so the data was gone.
  redis.call('UNLINK', data)
  return {-1}
end
local now = now()
if not last then
  fields[#fields + 1] = its.lease
  fields[#fields + 1] = int(now + tonumber(SHARED[2]))
  redis.call('HSET', state, unpack(fields))
  return {1, stage}
end
for _, field in ipairs({'done', done, its.done, int(now), its.ms, ARGV[7]}) do
  fields[#fields + 1] = field
end
if ready then
  fields[#fields + 1] = 'status'
  fields[#fields + 1] = 'READY'
  -- Appended first: where that fails, the listener is not counted.
  if fanin then redis.call('XADD', fanin, '*', 'id', id, 'attempt', attempt, 'stage', have[3], 'bytes', all) end
end
redis.call('HSET', state, unpack(fields))
if events then
  redis.call('XADD', events, 'MAXLEN', '~', SHARED[4], '*', 'id', id, 'attempt', attempt, 'event', 'done',
    'listener', listener, 'rows', rows)
end
if stream and ARGV[8] ~= '' then acknowledge(stream, SHARED[5], ARGV[8]) end
return {ready and 2 or 1, stage, tonumber(all)}
