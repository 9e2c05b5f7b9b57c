#!lua
-- Starts attempts of jobs: the hash with state and counters, the deadline, and one
-- entry for every listener of stage 1. Acknowledges the entries that asked for it.
-- KEYS  1 deadlines, 2 events, 3 jobs, 4 wake, 5 epoch, 6… N task streams; then of
--       every job: its hash, its tombstone
-- ARGV  1 jobs, 2 N, 3 timeout (ms from now), 4 margin (ms that the hash outlives the
--       deadline), 5 cap of the events, 6 report/definition, 7 epoch in which the
--       attempts may start (empty: any), 8 1: deadlines move while a listener is paused
--       (or empty), 9 group, 10 bytes of parameters up to which an entry carries them,
--       11… N listeners; then of every job: id, attempt, parameters (JSON), digest of
--       the parameters, entry of the stream jobs (empty: none)
-- Returns for every job 1 started; 2 the same attempt exists or has ended; -5 another
--       job of this id has this attempt or a later one; -1 Redis has another epoch; -6 the key is not a job
-- Cost  O(jobs * listeners)
local call, match = redis.call, string.match
local jobs, n, group = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[9]
local names = {unpack(ARGV, 11, 10 + n)}
local new = call('EXISTS', unpack(KEYS, 6 + n)) == 0
local same_epoch = ARGV[7] == '' or call('GET', KEYS[5]) == ARGV[7]
local deadline = now() + tonumber(ARGV[3])
local expires = int(math.max(deadline + tonumber(ARGV[4]), now() + 600000))
deadline = int(deadline)
local middle = ' RUN 1 0 ' .. deadline .. ' 0/' .. n .. ' 0 |' .. table.concat(names, '|') .. '| ' .. expires .. ' ' ..
  int(now()) .. ' ' .. ARGV[6] .. '/'
local listeners, target = table.concat(names, ','), int(n)
local out, due, done = {}, {}, {}
for i = 1, jobs do
  local a, k = 6 + n + 5 * i, 4 + n + 2 * i
  local id, attempt, parameters, entry = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 4]
  local hash, outcome, have, of = KEYS[k], 1, nil, nil
  if not new then
    local text = redis.pcall('HGET', hash, 'job')
    if type(text) == 'table' and text.err then
      outcome = -6
    else
      have, of = match(text or '', '^(%d+) .* (%S+)$')
      if not have then have, of = match(call('GET', KEYS[k + 1]) or '', '^(%d+) %u+ (%S+)') end
    end
  end
  if have and tonumber(have) >= tonumber(attempt) then
    outcome = have == attempt and of == ARGV[6] .. '/' .. ARGV[a + 3] and 2 or -5
  elseif not same_epoch and outcome == 1 then
    outcome = -1
  end
  if outcome == 1 then
    if not new then call('UNLINK', hash) end
    call('HSET', hash, 'job', attempt .. middle .. ARGV[a + 3], 'queryDoneCount', '0', 'queryTarget', target,
      'parameters', parameters, 'listeners', listeners)
    if ARGV[8] ~= '' then call('HSET', hash, 'waits', ARGV[8]) end
    call('PEXPIREAT', hash, expires)
    due[#due + 1] = deadline
    due[#due + 1] = id
    for l = 1, n do
      if #parameters <= tonumber(ARGV[10]) then
        call('XADD', KEYS[5 + l], '*', 'id', id, 'attempt', attempt, 'of', ARGV[6], 'parameters', parameters)
      else
        call('XADD', KEYS[5 + l], '*', 'id', id, 'attempt', attempt, 'of', ARGV[6])
      end
    end
    call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'id', id, 'attempt', attempt, 'event', 'started', 'report',
      match(ARGV[6], '^(.*)/'))
  end
  if outcome > 0 and entry ~= '' then done[#done + 1] = entry end
  out[i] = outcome
end
if #due > 0 then
  call('ZADD', KEYS[1], unpack(due))
  wake_by(KEYS[4], deadline)
end
if #done > 0 then acknowledge(KEYS[3], group, unpack(done)) end
return out
