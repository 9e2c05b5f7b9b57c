#!lua
-- Counts a listener for jobs whose tasks it has finished, once for every job, and acknowledges
-- their entries. The last listener of a stage makes the job READY and appends it to the fan-in
-- stream, or to that of large jobs. A dataset of one chunk is an argument; others were stored before.
-- KEYS  1 fan-in, 2 fan-in of large jobs, 3 stream of the tasks; then the hash of every job
-- ARGV  1 jobs, 2 listener, 3 group, 4 max bytes of a job's data, 5 the same of a job that is
--       not large, 6 columns (JSON), 7 C: number of columns in the arguments (0: all chunks are
--       stored), 8… their C fields; then of every job: id, attempt, generation, entry (empty: none), chunks, rows of the chunk in
--       the arguments (or the writer of the chunks, see append), duration (ms), C values
-- Returns for every job 2 counted, now or before, and the barrier is reached; 1 counted, now or
--       before; 0 another worker has the entry; -1 gone; -3 the job's data would have too many
--       bytes; -6 the key is not a job; -7 a chunk is missing
-- Cost  O(bytes)
local call, match, find, sub = redis.call, string.match, string.find, string.sub
local stream, jobs, listener, group, max = KEYS[3], tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local small, columns, c = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7])
local first, later, part = '|' .. listener .. '|', '|' .. listener .. '#', listener .. ':part'
local fields, stride = {unpack(ARGV, 8, 7 + c)}, 7 + c
local out, done, at = {}, {}, int(now())
for i = 1, jobs do
  local a = 8 + c + (i - 1) * stride
  local id, attempt, g, entry, chunks, hash = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], KEYS[3 + i]
  local outcome, state, broken = 1, text('HGET', hash, 'job')
  local was, status, stage, middle, count, target, bytes, open, rest =
    match(state or '', '^(%d+) (%u+) (%d+) (%d+ %d+) (%d+)/(%d+) (%d+) (%S+)()')
  local mine = g == '0' and first or later .. g .. '|'
  local from = was == attempt and find(open, mine, 1, true)
  if broken or state and not was then
    outcome = -6
  elseif was ~= attempt then
    outcome = -1
  elseif from and status == 'RUN' then
    local size, found = 0, nil
    if c > 0 then
      for k = a + 7, a + 6 + c do size = size + #ARGV[k] end
      found = 'chunks=1 rows=' .. ARGV[a + 5] .. ' bytes=' .. size .. ' columns=' .. columns
      if bytes + size > max then outcome = -3 end
    else
      local stored = call('HMGET', hash, part, listener .. ':writer')
      found = stored[1]
      if stored[2] and stored[2] ~= ARGV[a + 5] then
        outcome = 0
      elseif match(found or '', '^chunks=(%d+) ') ~= chunks then
        outcome = -7
      end
    end
    if outcome == 1 then
      count, bytes, open = int(count + 1), int(bytes + size), sub(open, 1, from) .. sub(open, from + #mine)
      local ready = open == '|'
      if ready then
        -- Appended first: if that fails, the listener is not counted.
        call('XADD', KEYS[tonumber(bytes) > small and 2 or 1], '*', 'id', id, 'attempt', attempt, 'stage', stage, 'bytes', bytes)
        outcome = 2
      end
      local set = {'job', attempt .. (ready and ' READY ' or ' RUN ') .. stage .. ' ' .. middle .. ' ' .. count .. '/' ..
        target .. ' ' .. bytes .. ' ' .. open .. sub(state, rest), 'queryDoneCount', count, listener .. ':found',
        'at=' .. at .. ' ms=' .. ARGV[a + 6] .. ' ' .. found}
      for k = 1, c do
        if #set > 4000 then -- Lua unpacks at most 8000 values at once
          call('HSET', hash, unpack(set))
          set = {}
        end
        set[#set + 1], set[#set + 2] = fields[k], ARGV[a + 6 + k]
      end
      call('HSET', hash, unpack(set))
      if c == 0 then call('HDEL', hash, part, listener .. ':writer') end
    end
  elseif find(open, first, 1, true) or find(open, later, 1, true) then
    -- Another worker has the task. If it works on another entry, this one is a duplicate.
    outcome = status == 'RUN' and (entry == '' or call('HGET', hash, listener .. ':entry') == entry) and 0 or -1
  elseif call('HEXISTS', hash, listener .. ':found') == 1 then
    outcome = status == 'READY' and 2 or 1
  else
    outcome = -1
  end
  if entry ~= '' and (outcome > 0 or outcome == -1) then done[#done + 1] = entry end
  out[i] = outcome
end
acknowledge(stream, group, unpack(done))
return out
