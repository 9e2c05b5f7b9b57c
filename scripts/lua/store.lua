#!lua
-- Stores one chunk of an external worker's rows, in whatever order chunks come, or
-- notes how many there are. A chunk that comes before its turn is in the data with a
-- field <listener>.#<number> beside it (its rows), and is counted once all
-- before it are there.
-- KEYS  1 data, 2 state
-- ARGV  1 attempt, 2 owner, 3 number of the chunk from 0, or how many there are, 4 its
--       rows (empty: it says how many there are), 5 columns (JSON), 6… field and value
--       of each column
-- SHARED  1 listener, 2 lease (ms), 3 most bytes of a job's data, 4 how far a chunk may
--       be before its turn
-- Returns {outcome, chunks that are counted, highest chunk that is stored plus 1, how
--       many there are, or -1}: 1 stored, now or before; -4 too far before its turn; of
--       the others the outcome alone: 0 another owner; -1 gone; -3 the job's data would
--       have too many bytes
-- Cost  O(bytes + chunks that are counted)
local data, state = KEYS[1], KEYS[2]
local attempt, owner, chunk, listener, its = ARGV[1], ARGV[2], tonumber(ARGV[3]), SHARED[1], of(SHARED[1])

local have = redis.call('HMGET', state, 'attempt', 'status', its.owner, its.done, its.chunks, its.rows, its.bytes,
  'bytes', its.last, its.ends)
if have[1] ~= attempt or have[2] ~= 'RUN' or have[4] or redis.call('EXISTS', data) == 0 then return {-1} end
if have[3] ~= owner then return {0} end
local chunks, rows, last = tonumber(have[5]), tonumber(have[6]), tonumber(have[9] or have[5])
local lease = int(now() + tonumber(SHARED[2]))
if ARGV[4] == '' then
  redis.call('HSET', state, its.ends, int(chunk), its.lease, lease)
  return {1, chunks, last, chunk}
end
local ends = tonumber(have[10] or -1)
local mark = listener .. '.#'
if chunk < chunks or redis.call('HEXISTS', data, mark .. int(chunk)) == 1 then return {1, chunks, last, ends} end
if chunk >= chunks + tonumber(SHARED[4]) then return {-4, chunks, last, ends} end
local bytes = 0
for i = 7, #ARGV, 2 do bytes = bytes + #ARGV[i] end
local all = tonumber(have[8] or 0) + bytes
if all > tonumber(SHARED[3]) then return {-3} end

-- Lua unpacks no more than 8000 values at once.
for i = 6, #ARGV, 4000 do redis.call('HSET', data, unpack(ARGV, i, math.min(i + 3999, #ARGV))) end
redis.call('HSETNX', state, its.columns, ARGV[5])
last = math.max(last, chunk + 1)
if chunk > chunks then
  redis.call('HSET', data, mark .. int(chunk), ARGV[4])
else
  chunks, rows = chunks + 1, rows + tonumber(ARGV[4])
  while chunks < last do
    local early = redis.call('HGET', data, mark .. int(chunks))
    if not early then break end
    redis.call('HDEL', data, mark .. int(chunks))
    chunks, rows = chunks + 1, rows + tonumber(early)
  end
end
redis.call('HSET', state, its.chunks, int(chunks), its.rows, int(rows), its.bytes, int(tonumber(have[7]) + bytes),
  'bytes', int(all), its.last, int(last), its.lease, lease)
return {1, chunks, last, ends}
