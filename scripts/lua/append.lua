#!lua
-- Uses  job
-- Stores one chunk of a task's columns, if the task still has this generation.
-- KEYS  1 hash
-- ARGV  1 attempt, 2 listener, 3 generation, 4 number of the chunk from 0, 5 its rows,
--       6 columns (JSON), 7 max bytes of a job's data, 8… field and value of every column
-- Returns 1 stored; 2 stored before; 0 another generation; -1 gone; -3 the job's data
--       would have too many bytes
-- Errors CHUNK if a chunk before this one is missing
-- Cost  O(bytes)
local hash, listener, chunk = KEYS[1], ARGV[2], tonumber(ARGV[4])

local j = read(hash)
if not j or j.attempt ~= ARGV[1] or j.status ~= 'RUN' then return -1 end
local g = generation(j, listener)
if not g then return -1 end
if g ~= ARGV[3] then return 0 end
local part = redis.call('HGET', hash, listener .. ':part') or 'chunks=0 rows=0 bytes=0 columns=' .. ARGV[6]
local chunks, rows, bytes, columns = string.match(part, '^chunks=(%d+) rows=(%d+) bytes=(%d+) columns=(.*)$')
if chunk < tonumber(chunks) then return 2 end
if chunk > tonumber(chunks) then
  return redis.error_reply('CHUNK ' .. chunk .. ' of ' .. listener .. ' came after ' .. chunks .. ' chunks')
end
local size = 0
for i = 9, #ARGV, 2 do size = size + #ARGV[i] end
if j.bytes + size > tonumber(ARGV[7]) then return -3 end
j.bytes = int(j.bytes + size)
-- Lua unpacks at most 8000 values at once.
for i = 8, #ARGV, 4000 do redis.call('HSET', hash, unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
redis.call('HSET', hash, 'job', line(j), listener .. ':part', 'chunks=' .. int(chunk + 1) .. ' rows=' ..
  int(rows + ARGV[5]) .. ' bytes=' .. int(bytes + size) .. ' columns=' .. columns)
return 1
