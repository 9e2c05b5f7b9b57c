#!lua
-- Uses  starts, keep
-- Starts an attempt of a job with datasets that an earlier attempt has left (see keep.lua): their
-- listeners are done, and what else was kept is removed. If all of stage 1 are, the job is READY.
-- KEYS  1 deadlines, 2 events, 3 jobs, 4 wake, 5 epoch, 6 reply_to, 7 finished, 8 fan-in, 9 fan-in
--       of large jobs, 10 hash, 11 tombstone, 12 hash that was kept, 13… task streams of the
--       listeners of stage 1 that are not reused
-- ARGV  1 listeners that are reused, of all stages, with commas, 2 attempt whose end kept them, 3
--       timeout (ms from now), 4 margin (ms that the hash outlives the deadline), 5 cap of the
--       events, 6 report/definition, 7 epoch in which the attempt may start (empty: any), 8 1: the
--       deadline moves while a listener is paused (or empty), 9 group, 10 bytes of parameters up
--       to which an entry carries them, 11 what settle keeps if it fails, 12 id, 13 attempt, 14
--       parameters (JSON), 15 digest of the parameters, 16 entry of the stream jobs
--       (empty: none), 17 traceparent (empty: not traced), 18 when it was pushed and by which span,
--       19 max bytes of a job that is not large, 20 when it was pushed (empty: unknown), 21… listeners of stage 1
-- Returns {outcome}: 4 started with datasets; -10 some of that is not kept any more, and nothing has
--       changed; else what start.lua returns
-- Cost  O(listeners), and O(chunks and columns) of what is not reused
local hash, kept, reused, of, id, attempt, parameters = KEYS[10], KEYS[12], ARGV[1], ARGV[6], ARGV[12], ARGV[13], ARGV[14]

local outcome = standing(hash, KEYS[11], attempt, of .. '/' .. ARGV[15])
if outcome == 1 and ARGV[7] ~= '' and redis.call('GET', KEYS[5]) ~= ARGV[7] then outcome = -1 end
if outcome == 1 then
  local j, open, names, streams = text('HGET', kept, 'job') and read(kept), {}, {unpack(ARGV, 21)}, {}
  if not j or j.attempt ~= ARGV[2] then return {-10} end
  local have = redis.call('HGET', kept, 'listeners')
  local function has(names, listener) return string.find(',' .. names .. ',', ',' .. listener .. ',', 1, true) end
  local function reuses(listener) return has(reused, listener) end
  for listener in string.gmatch(reused, '[^,]+') do
    if not has(have, listener) then return {-10} end
  end
  for listener in string.gmatch(have, '[^,]+') do
    if not reuses(listener) then forget(kept, j, listener, true) end
  end
  for _, listener in ipairs(names) do
    if not reuses(listener) then open[#open + 1], streams[#streams + 1] = listener, KEYS[13 + #streams] end
  end
  local deadline = now() + tonumber(ARGV[3])
  local expires = int(math.max(deadline + tonumber(ARGV[4]), now() + 600000))
  announce(KEYS[2], ARGV[5], id, attempt, string.match(of, '^(.*)/'), ARGV[20], reused)
  -- Sent first: if that fails, the job is not started.
  if #open == 0 then
    redis.call('XADD', KEYS[tonumber(j.bytes) > tonumber(ARGV[19]) and 9 or 8], '*', 'id', id, 'attempt', attempt,
      'stage', 1, 'bytes', j.bytes)
  elseif #parameters <= tonumber(ARGV[10]) then
    send_to(streams, 'id', id, 'attempt', attempt, 'of', of, 'parameters', parameters)
  else
    send_to(streams, 'id', id, 'attempt', attempt, 'of', of)
  end
  j.attempt, j.status, j.stage, j.fence, j.deadline = attempt, #open == 0 and 'READY' or 'RUN', 1, 0, int(deadline)
  j.done, j.target, j.open = #names - #open, #names, #open == 0 and '|' or '|' .. table.concat(open, '|') .. '|'
  j.expires, j.started, j.of = expires, int(now()), of .. '/' .. ARGV[15]
  redis.call('UNLINK', hash)
  redis.call('RENAME', kept, hash)
  store(hash, expires, line(j), j.done, j.target, parameters, table.concat(names, ','), ARGV[8], ARGV[11], ARGV[17], ARGV[18])
  redis.call('ZADD', KEYS[1], j.deadline, id)
  wake_by(KEYS[4], j.deadline)
  if redis.call('EXISTS', KEYS[6]) == 1 then
    pcall(send_receipts, KEYS[6], KEYS[7], id, attempt .. '/accepted/' .. j.started .. '/' .. j.deadline .. '/' ..
      string.match(of, '^(.*)/'))
  end
end
if outcome > 0 then acknowledge(KEYS[3], ARGV[9], ARGV[16]) end
return {outcome == 1 and reused ~= '' and 4 or outcome}
