#!lua flags=allow-oom
-- Moves firings that have waited long enough back to their stream, every one once, however
-- many schedulers try.
-- KEYS  1 waiting firings, 2 fired, 3 finished
-- ARGV  1 max firings to move, 2 prefix of the names of ends
-- Returns {wait until the next one in ms, 0 if one is due, -1 if there is none}
-- Cost  O(log n + firings)
local later, max, ends = KEYS[1], ARGV[1], ARGV[2]

local now = now()
for _, member in ipairs(redis.call('ZRANGEBYSCORE', later, '-inf', int(now), 'LIMIT', 0, max)) do
  local name, due, late, try = string.match(member, '^(%S+) (%d+) (%d*) (%d+)$')
  -- A member that is not a firing is refused by its reader.
  local stream = string.sub(member, 1, #ends) == ends and KEYS[3] or KEYS[2]
  redis.call('XADD', stream, '*', 'name', name or member, 'due', due or '', 'late', late or '', 'try', try or '')
  redis.call('ZREM', later, member)
end
local first = redis.call('ZRANGE', later, 0, 0, 'WITHSCORES')
if not first[2] then return {-1} end
return {math.floor(math.max(0, math.min(tonumber(first[2]) - now, 86400000)))}
