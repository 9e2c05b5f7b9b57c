#!lua flags=allow-oom
-- Uses  job
-- Gives up a step that could not be done, so that it is tried again: after a delay, or at
-- once by whichever worker reads its stream. Acknowledges its entry.
-- KEYS  1 hash, 2 delayed, 3 events, 4 stream of the step
-- ARGV  1 id, 2 attempt, 3 step: a listener's name, @fanin or @record, 4 generation or
--       fence, 5 delay (ms; 0: into the stream at once), 6 1: the try counts; 0: it does
--       not; wait: nothing went wrong, 7 error (empty: the last one stays), or what the
--       step waits for, 8 cap of the events, 9 margin (ms that the hash lives on at least
--       beyond the delay), 10 group, 11 entry (empty: none), 12 blame (or empty)
-- Returns 1 given up, now or before; 0 another worker has the entry, or the job fails; -1
--       gone
-- Cost  O(log n)
local hash, delayed, events, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, step, token, delay, counts, text = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]
local fold = step == '@fanin' or step == '@record'
local name = fold and '@fanin' or step

local j = read(hash)
if not j or j.attempt ~= attempt then return -1 end
local have = redis.call('HMGET', hash, name .. ':left', name .. ':tries', name .. ':waits', name .. ':owner', name .. ':generation')
local current = fold and j.fence or generation(j, name)
if not current then return -1 end
if current ~= token then
  if have[5] == token then return 1 end -- its own call before this one, whose answer was lost
  return replaced(hash, name, stream, ARGV[10], ARGV[11])
end
if fold then
  if j.status ~= 'FOLD' and j.status ~= 'PUBLISHING' and j.status ~= 'FAILING' then return 0 end
  j.fence = int(j.fence + 1)
else
  if j.status ~= 'RUN' then return -1 end
  raise(j, name)
end
local due, waits = int(now() + delay), counts == 'wait'
local set = {'job', line(j), name .. ':generation', token, name .. ':left', have[4] or '', name .. ':next', due,
  name .. ':tries', int((have[2] or 0) + (counts == '1' and 1 or 0))}
local function add(field, value)
  set[#set + 1] = name .. field
  set[#set + 1] = value
end
if waits then
  add(':waits', text)
elseif text ~= '' then
  add(':error', text)
  add(':blame', ARGV[12])
end
redis.call('HSET', hash, unpack(set))
redis.call('HDEL', hash, name .. ':owner', name .. ':lease', name .. ':entry')
if not waits and text ~= '' and have[3] then redis.call('HDEL', hash, name .. ':waits') end
redis.call('PEXPIRE', hash, delay + ARGV[9], 'GT')
if delay > 0 then
  redis.call('ZADD', delayed, due, id .. '/' .. attempt .. '/' .. step)
else
  redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt)
end
if not waits then
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'id', id, 'attempt', attempt, 'event', 'retry',
    'step', step, 'counts', counts, 'next', due, 'error', text)
elseif have[3] ~= text then -- once, however often it is polled
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'id', id, 'attempt', attempt, 'event', 'waits',
    'step', step, 'next', due, 'for', text)
end
if ARGV[11] ~= '' then acknowledge(stream, ARGV[10], ARGV[11]) end
return 1
