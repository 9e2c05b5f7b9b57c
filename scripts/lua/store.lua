#!lua
-- Uses  job
-- Stores one chunk of an external worker's rows, in any order, or the number of chunks
-- that exist. A chunk that arrives early has a field <listener>.#<number> beside it (its rows),
-- and is counted when all chunks before it are stored.
-- KEYS  1 hash
-- ARGV  1 attempt, 2 listener, 3 generation, 4 number of the chunk from 0, or how many there
--       are, 5 its rows (empty: it says how many there are), 6 columns (JSON), 7 lease (ms),
--       8 max bytes of a job's data, 9 how many chunks before this one may be missing, 10…
--       field and value of every column
-- Returns {outcome, chunks that are counted, highest chunk that is stored plus 1, how many
--       there are, or -1}: 1 stored, now or before; -4 too many chunks before it are missing;
--       of the others the outcome alone: 0 another generation; -1 gone; -3 the job's data
--       would have too many bytes
-- Errors CHUNK if the task has segments in the spool
-- Cost  O(bytes + chunks that are counted)
local hash, listener, chunk = KEYS[1], ARGV[2], tonumber(ARGV[4])

local j = read(hash)
if not j or j.attempt ~= ARGV[1] or j.status ~= 'RUN' then return {-1} end
local g = generation(j, listener)
if not g then return {-1} end
if g ~= ARGV[3] then return {0} end
local have = redis.call('HMGET', hash, listener .. ':part', listener .. ':last', listener .. ':total', listener .. ':at')
local part = have[1] or 'chunks=0 rows=0 bytes=0 columns=' .. (ARGV[6] or '[]')
local chunks, rows, bytes, columns = string.match(part, '^chunks=(%d+) rows=(%d+) bytes=(%d+) columns=(.*)$')
chunks, rows = tonumber(chunks), tonumber(rows)
local last, total, mark = tonumber(have[2] or chunks), tonumber(have[3] or -1), listener .. '.#'
local lease = int(now() + tonumber(ARGV[7]))
if ARGV[5] == '' then
  redis.call('HSET', hash, listener .. ':total', int(chunk), listener .. ':lease', lease)
  return {1, chunks, last, chunk}
end
if have[4] then return redis.error_reply('CHUNK ' .. listener .. ' has segments in the spool') end
if chunk < chunks or redis.call('HEXISTS', hash, mark .. int(chunk)) == 1 then return {1, chunks, last, total} end
if chunk >= chunks + tonumber(ARGV[9]) then return {-4, chunks, last, total} end
local size = 0
for i = 11, #ARGV, 2 do size = size + #ARGV[i] end
if j.bytes + size > tonumber(ARGV[8]) then return {-3} end

-- Lua unpacks at most 8000 values at once.
for i = 10, #ARGV, 4000 do redis.call('HSET', hash, unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
last = math.max(last, chunk + 1)
if chunk > chunks then
  redis.call('HSET', hash, mark .. int(chunk), ARGV[5])
else
  chunks, rows = chunks + 1, rows + tonumber(ARGV[5])
  while chunks < last do
    local early = redis.call('HGET', hash, mark .. int(chunks))
    if not early then break end
    redis.call('HDEL', hash, mark .. int(chunks))
    chunks, rows = chunks + 1, rows + tonumber(early)
  end
end
j.bytes = int(j.bytes + size)
redis.call('HSET', hash, 'job', line(j), listener .. ':part', 'chunks=' .. int(chunks) .. ' rows=' .. int(rows) ..
  ' bytes=' .. int(bytes + size) .. ' columns=' .. columns, listener .. ':last', int(last), listener .. ':lease', lease)
return {1, chunks, last, total}
