#!lua flags=allow-oom
-- Uses  job
-- Sends a job whose barrier was reached to its next stage, and acknowledges its entry,
-- unless another worker has it. A listener whose dataset the job reuses is done at once. If all
-- are, the job is READY again.
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
local fields, streams, open = {'parameters', 'listeners', 'waits'}, {}, {}
for i, listener in ipairs(names) do fields[3 + i] = listener .. ':found' end
local have = redis.call('HMGET', hash, unpack(fields))
for i, listener in ipairs(names) do
  if not have[3 + i] then streams[#streams + 1], open[#open + 1] = KEYS[3 + i], listener end
end
-- Sent first: if that fails, nothing has changed.
if #open == 0 then
  redis.call('XADD', stream, '*', 'id', id, 'attempt', attempt, 'stage', int(following), 'bytes', j.bytes)
elseif #have[1] <= tonumber(ARGV[8]) then
  send_to(streams, 'id', id, 'attempt', attempt, 'of', string.match(j.of, '^(.*)/'), 'parameters', have[1])
else
  send_to(streams, 'id', id, 'attempt', attempt, 'of', string.match(j.of, '^(.*)/'))
end
j.done, j.open = int(j.done + #names - #open), #open == 0 and '|' or '|' .. table.concat(open, '|') .. '|'
j.status, j.stage, j.target = #open == 0 and 'READY' or 'RUN', int(following), int(j.target + #names)
redis.call('HSET', hash, 'job', line(j), 'queryDoneCount', j.done, 'queryTarget', j.target, 'listeners', have[2] .. ';' .. table.concat(names, ','))
-- Earlier pauses do not matter to this stage.
if have[3] then redis.call('HSET', hash, 'began', int(now())) end
redis.call('HDEL', hash, '@fanin:owner', '@fanin:entry', '@fanin:tries', '@fanin:error', '@fanin:blame', '@fanin:next')
redis.call('PEXPIREAT', hash, j.expires, 'GT')
acknowledge(stream, group, entry)
redis.call('XADD', events, 'MAXLEN', '~', ARGV[5], '*', 'id', id, 'attempt', attempt, 'event', 'stage', 'stage', j.stage)
return 1
