#!lua
-- Uses  job
-- Stores one chunk of a task's columns, if the task still has this generation. All chunks
-- of a try come from one writer: a Redis that has lost its last second can deliver an entry
-- for the first time twice, and give a generation twice.
-- KEYS  1 hash
-- ARGV  1 attempt, 2 listener, 3 generation, 4 writer, unique for every try, 5 number of the
--       chunk from 0, 6 its rows, 7 columns (JSON), 8 max bytes of a job's data, 9… field and
--       value of every column
-- Returns 1 stored; 2 stored before; 0 another generation or writer; -1 gone; -3 the job's
--       data would have too many bytes
-- Errors CHUNK if a chunk before this one is missing, or the task has segments in the spool
-- Cost  O(bytes)
local hash, listener, writer, chunk = KEYS[1], ARGV[2], ARGV[4], tonumber(ARGV[5])

local j = read(hash)
if not j or j.attempt ~= ARGV[1] or j.status ~= 'RUN' then return -1 end
local g = generation(j, listener)
if not g then return -1 end
local have = redis.call('HMGET', hash, listener .. ':part', listener .. ':writer')
if g ~= ARGV[3] or have[2] and have[2] ~= writer then return 0 end
local part = have[1] or 'chunks=0 rows=0 bytes=0 columns=' .. ARGV[7]
local chunks, rows, bytes, columns = string.match(part, '^chunks=(%d+) rows=(%d+) bytes=(%d+) columns=(.*)$')
if bytes == '0' and chunks ~= '0' then return redis.error_reply('CHUNK ' .. listener .. ' has segments in the spool') end
if chunk < tonumber(chunks) then return 2 end
if chunk > tonumber(chunks) then
  return redis.error_reply('CHUNK ' .. chunk .. ' of ' .. listener .. ' came after ' .. chunks .. ' chunks')
end
local size = 0
for i = 10, #ARGV, 2 do size = size + #ARGV[i] end
if j.bytes + size > tonumber(ARGV[8]) then return -3 end
j.bytes = int(j.bytes + size)
-- Lua unpacks at most 8000 values at once.
for i = 9, #ARGV, 4000 do redis.call('HSET', hash, unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
redis.call('HSET', hash, 'job', line(j), listener .. ':writer', writer, listener .. ':part', 'chunks=' .. int(chunk + 1) ..
  ' rows=' .. int(rows + ARGV[6]) .. ' bytes=' .. int(bytes + size) .. ' columns=' .. columns)
return 1
