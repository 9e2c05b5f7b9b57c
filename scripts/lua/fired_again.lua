#!lua flags=allow-oom
-- Moves firings that have waited long enough back to the stream, every one once, however
-- many schedulers try.
-- KEYS  1 waiting firings, 2 fired
-- ARGV  1 max firings to move
-- Returns {wait until the next one in ms, 0 if one is due, -1 if there is none}
-- Cost  O(log n + firings)
local later, fired, max = KEYS[1], KEYS[2], ARGV[1]

local now = now()
for _, member in ipairs(redis.call('ZRANGEBYSCORE', later, '-inf', int(now), 'LIMIT', 0, max)) do
  local name, due, late, try = string.match(member, '^(%S+) (%d+) (%d*) (%d+)$')
  -- A member that is not a firing is refused by its reader.
  redis.call('XADD', fired, '*', 'name', name or member, 'due', due or '', 'late', late or '', 'try', try or '')
  redis.call('ZREM', later, member)
end
local first = redis.call('ZRANGE', later, 0, 0, 'WITHSCORES')
if not first[2] then return {-1} end
return {math.floor(math.max(0, math.min(tonumber(first[2]) - now, 86400000)))}
