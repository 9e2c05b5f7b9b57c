#!lua flags=allow-oom
-- Uses  job
-- Requeues a step that could not be done, so that it is retried: after a delay, or at
-- once by the next worker that reads its stream. Acknowledges its entry, unless another
-- worker has it.
-- KEYS  1 hash, 2 delayed, 3 events, 4 stream of the step
-- ARGV  1 id, 2 attempt, 3 step: a listener's name, @fanin or @record, 4 generation or
--       fence, 5 delay (ms; 0: into the stream at once), 6 1: the try counts; 0: it does
--       not; wait: nothing went wrong, 7 error (empty: the last one stays), or what the
--       step waits for, 8 cap of the events, 9 margin (ms that the hash lives on at least
--       beyond the delay), 10 group, 11 entry (empty: none), 12 blame (or empty)
-- Returns 1 requeued, now or before; 0 another worker has the entry, or the job is not
--       claimed; -1 gone
-- Cost  O(log n)
local hash, delayed, events, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, step, token, delay, counts, why = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]
local fold = step == '@fanin' or step == '@record'
local name = fold and '@fanin' or step

local j = read(hash)
local current = j and j.attempt == attempt and (fold and j.fence or j.status == 'RUN' and generation(j, name))
if not current then
  acknowledge(stream, ARGV[10], ARGV[11])
  return -1
end
local have = redis.call('HMGET', hash, name .. ':tries', name .. ':waits', name .. ':owner', name .. ':generation')
if current ~= token then
  if have[4] ~= token then return replaced(hash, name, stream, ARGV[10], ARGV[11]) end
  acknowledge(stream, ARGV[10], ARGV[11])
  return 1 -- this worker's previous call, whose answer was lost
end
if fold then
  if j.status ~= 'FOLD' and j.status ~= 'PUBLISHING' and j.status ~= 'FAILING' then return 0 end
  j.fence = int(j.fence + 1)
else
  raise(j, name)
end
local due, waits, old = int(now() + delay), counts == 'wait', {}
local set = {'job', line(j), name .. ':generation', token, name .. ':next', due,
  name .. ':tries', int((have[1] or 0) + (counts == '1' and 1 or 0))}
for _, field in ipairs({':owner', ':lease', ':entry', ':pause'}) do old[#old + 1] = name .. field end
-- note sets a field, or removes it if the value is empty.
local function note(field, value)
  if not value or value == '' then
    old[#old + 1] = name .. field
  else
    set[#set + 1] = name .. field
    set[#set + 1] = value
  end
end
note(':last_owner', have[3])
if waits then
  note(':waits', why)
  note(':blame', ARGV[12])
elseif why ~= '' then
  note(':error', why)
  note(':blame', ARGV[12])
  note(':waits')
end
-- Sent first: if that fails, the worker still has the step.
if delay > 0 then
  redis.call('ZADD', delayed, due, id .. '/' .. attempt .. '/' .. step)
else
  redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt)
end
redis.call('HSET', hash, unpack(set))
redis.call('HDEL', hash, unpack(old))
redis.call('PEXPIRE', hash, delay + ARGV[9], 'GT')
acknowledge(stream, ARGV[10], ARGV[11])
if not waits then
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'id', id, 'attempt', attempt, 'event', 'retry',
    'step', step, 'counts', counts, 'next', due, 'error', why)
elseif have[2] ~= why then -- once, however often it is polled
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'id', id, 'attempt', attempt, 'event', 'waits',
    'step', step, 'next', due, 'for', why)
end
return 1
