#!lua flags=no-writes
-- Lists the timers' keys, of those that a scan found, that disagree with the sets.
-- KEYS  1 timers, 2 paused, 3 recent, then at most a thousand timers' keys
-- ARGV  the names of these timers
-- Returns {1, names…}
-- Cost  O(keys * log n)
local timers, paused, recent = KEYS[1], KEYS[2], KEYS[3]
local names = ARGV

local due = redis.call('ZMSCORE', timers, unpack(names))
local waits = redis.call('ZMSCORE', paused, unpack(names))
local ended = redis.call('ZMSCORE', recent, unpack(names))
local answer = {1}
for i = 1, #names do
  local at = redis.call('PEXPIRETIME', KEYS[3 + i])
  local known = waits[i] or due[i]
  -- A key without a TTL removes its timer, if one exists that is not paused.
  if at == -1 and due[i] and not waits[i] or at > 0 and (ended[i] or not known or tonumber(known) ~= at) then
    answer[#answer + 1] = names[i]
  end
end
return answer
