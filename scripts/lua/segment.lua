#!lua flags=allow-oom
-- Uses  job
-- Lists one segment of a task's dataset, which lies in the spool, or all at once, if the task still
-- has this generation. All segments of a try come from one writer, as all chunks do.
-- KEYS  1 hash
-- ARGV  1 attempt, 2 listener, 3 generation, 4 writer, unique for every try, 5 number of the
--       segment from 0, 6 URL of the segments without their number, 7 chunks, 8 rows, 9 bytes,
--       10 the segment's word in the ticket, or those of all, 11 columns (JSON), 12 max bytes of a
--       job's segments, 13 what else was found: words that end with a space
-- Returns 1 listed; 2 listed before; 0 another generation or writer; -1 gone; -3 the job's
--       segments would have too many bytes
-- Errors CHUNK if a segment before this one is missing, or the task has chunks in Redis
-- Cost  O(segments of the task)
local hash, listener, writer, number = KEYS[1], ARGV[2], ARGV[4], tonumber(ARGV[5])

local j = read(hash)
if not j or j.attempt ~= ARGV[1] or j.status ~= 'RUN' then return -1 end
local g = generation(j, listener)
if not g then return -1 end
local have = redis.call('HMGET', hash, listener .. ':part', listener .. ':writer', listener .. ':at', 'spooled')
if g ~= ARGV[3] or have[2] and have[2] ~= writer then return 0 end
local ticket, _, listed = have[3] or ARGV[6], string.gsub(have[3] or '', ' ', '')
if number < listed then return 2 end
if number > listed then
  return redis.error_reply('CHUNK segment ' .. number .. ' of ' .. listener .. ' came after ' .. listed .. ' segments')
end
if have[1] and not have[3] then return redis.error_reply('CHUNK ' .. listener .. ' has chunks in Redis') end
local spooled = (have[4] or 0) + ARGV[9]
if spooled > tonumber(ARGV[12]) then return -3 end
local part = have[1] or 'chunks=0 rows=0 bytes=0 ' .. ARGV[13] .. 'columns=' .. ARGV[11]
local chunks, rows, more = string.match(part, '^chunks=(%d+) rows=(%d+) bytes=0 (.*)$')
redis.call('HSET', hash, 'spooled', int(spooled), listener .. ':at', ticket .. ' ' .. ARGV[10],
  listener .. ':at_generation', g, listener .. ':writer', writer, listener .. ':part', 'chunks=' .. int(chunks + ARGV[7]) ..
  ' rows=' .. int(rows + ARGV[8]) .. ' bytes=0 ' .. more)
return 1
