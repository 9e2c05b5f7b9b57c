#!lua flags=allow-oom
-- Uses  job
-- Sends a job whose barrier was reached to its next stage, and acknowledges its entry,
-- unless another worker has it.
-- KEYS  1 hash, 2 events, 3 stream of the entry, 4… task streams, one for every listener of the next stage
-- ARGV  1 id, 2 attempt, 3 stage that has ended, 4 fence (empty: not claimed), 5 cap of the
--       events, 6 group, 7 entry (empty: none), 8 bytes of parameters up to which an entry
--       carries them, 9… listeners of the next stage
-- Returns 1 advanced, now or before; 0 another worker has it; -1 gone
-- Cost  O(listeners)
local hash, events, stream = KEYS[1], KEYS[2], KEYS[3]
local id, attempt, ended, fence, group, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6], ARGV[7]
local names, following = {unpack(ARGV, 9)}, tonumber(ended) + 1

local j = read(hash)
local mine = j and j.attempt == attempt
local before = mine and j.status == 'RUN' and tonumber(j.stage) >= following
if before or not mine or j.stage ~= ended then
  acknowledge(stream, group, entry)
  return before and 1 or -1
end
if fence ~= '' and j.fence ~= fence or j.status ~= (fence == '' and 'READY' or 'FOLD') then
  return replaced(hash, '@fanin', stream, group, entry)
end
local have = redis.call('HMGET', hash, 'parameters', 'listeners', 'waits')
-- Sent first: if that fails, nothing has changed.
if #have[1] <= tonumber(ARGV[8]) then
  send(4, #names, 'id', id, 'attempt', attempt, 'of', string.match(j.of, '^(.*)/'), 'parameters', have[1])
else
  send(4, #names, 'id', id, 'attempt', attempt, 'of', string.match(j.of, '^(.*)/'))
end
j.status, j.stage, j.target = 'RUN', int(following), int(j.target + #names)
j.open = '|' .. table.concat(names, '|') .. '|'
redis.call('HSET', hash, 'job', line(j), 'queryTarget', j.target, 'listeners', have[2] .. ';' .. table.concat(names, ','))
-- Earlier pauses do not matter to this stage.
if have[3] then redis.call('HSET', hash, 'began', int(now())) end
redis.call('HDEL', hash, '@fanin:owner', '@fanin:entry', '@fanin:tries', '@fanin:error', '@fanin:blame', '@fanin:next')
redis.call('PEXPIREAT', hash, j.expires, 'GT')
acknowledge(stream, group, entry)
redis.call('XADD', events, 'MAXLEN', '~', ARGV[5], '*', 'id', id, 'attempt', attempt, 'event', 'stage', 'stage', j.stage)
return 1
