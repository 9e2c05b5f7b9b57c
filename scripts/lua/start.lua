#!lua
-- Uses  starts
-- Starts attempts of jobs: the hash with state and counters, the deadline, and one entry
-- for every listener of stage 1, and the receipts that services asked for. Acknowledges
-- the entries that asked for it. A field `job` that is not a state is replaced.
-- KEYS  1 deadlines, 2 events, 3 jobs, 4 wake, 5 epoch, 6 reply_to, 7 finished, 8… N task
--       streams; then of every job: its hash, its tombstone
-- ARGV  1 jobs, 2 N, 3 timeout (ms from now), 4 margin (ms that the hash outlives the
--       deadline), 5 cap of the events, 6 report/definition, 7 epoch in which the attempts
--       may start (empty: any), 8 1: deadlines move while a listener is paused (or empty),
--       9 group, 10 bytes of parameters up to which an entry carries them, 11 what settle keeps
--       if they fail, see keep.lua (empty: nothing), 12… N listeners; then of every job: id,
--       attempt, parameters (JSON), digest of the parameters, entry of the stream jobs (empty:
--       none), traceparent (empty: not traced), when it was pushed and by which span, when it
--       was pushed (empty: unknown)
-- Returns for every job 1 started; 2 the same attempt exists or has ended; -5 another job
--       of this id has this attempt or a later one; -1 Redis has another epoch; -6 a key of
--       it is of another type
-- Cost  O(jobs * listeners)
local call = redis.call
local jobs, n, group = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[9]
local names = {unpack(ARGV, 12, 11 + n)}
local replies = call('EXISTS', KEYS[6]) == 1
local new = call('EXISTS', unpack(KEYS, 8 + n)) == 0
local same_epoch = ARGV[7] == '' or call('GET', KEYS[5]) == ARGV[7]
local deadline = now() + tonumber(ARGV[3])
local expires = int(math.max(deadline + tonumber(ARGV[4]), now() + 600000))
deadline = int(deadline)
local at, report = int(now()), string.match(ARGV[6], '^(.*)/')
local middle = ' RUN 1 0 ' .. deadline .. ' 0/' .. n .. ' 0 |' .. table.concat(names, '|') .. '| ' .. expires .. ' ' ..
  at .. ' ' .. ARGV[6] .. '/'
local listeners, target = table.concat(names, ','), int(n)
local out, due, done, started = {}, {}, {}, {}
for i = 1, jobs do
  local a, k = 4 + n + 8 * i, 6 + n + 2 * i
  local id, attempt, parameters, entry = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 4]
  local hash, outcome = KEYS[k], 1
  local exists = not new or started[hash] -- a call can contain an id twice
  if exists then outcome = standing(hash, KEYS[k + 1], attempt, ARGV[6] .. '/' .. ARGV[a + 3]) end
  if outcome == 1 and not same_epoch then outcome = -1 end
  if outcome == 1 then
    announce(KEYS[2], ARGV[5], id, attempt, report, ARGV[a + 7], '')
    -- Sent first: if that fails, the job is not started. Two messages of one task that
    -- need no take must never exist.
    if #parameters <= tonumber(ARGV[10]) then
      send(8, n, 'id', id, 'attempt', attempt, 'of', ARGV[6], 'parameters', parameters)
    else
      send(8, n, 'id', id, 'attempt', attempt, 'of', ARGV[6])
    end
    if exists then call('UNLINK', hash) end
    store(hash, expires, attempt .. middle .. ARGV[a + 3], '0', target, parameters, listeners, ARGV[8], ARGV[11],
      ARGV[a + 5], ARGV[a + 6])
    -- If that fails, the receipt of the end brings this one with it.
    if replies then pcall(send_receipts, KEYS[6], KEYS[7], id, attempt .. '/accepted/' .. at .. '/' .. deadline .. '/' .. report) end
    started[hash], due[#due + 1], due[#due + 2] = true, deadline, id
  end
  if outcome > 0 and entry ~= '' then done[#done + 1] = entry end
  out[i] = outcome
end
if #due > 0 then
  call('ZADD', KEYS[1], unpack(due))
  wake_by(KEYS[4], deadline)
end
acknowledge(KEYS[3], group, unpack(done))
return out
