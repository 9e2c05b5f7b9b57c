#!lua flags=allow-oom
-- Uses  lanes_serve
-- Puts queues of a class into the rotation that are not in it, such as after a limit was raised, and
-- starts the next ids. The ids of a class that is not configured any more are appended to the stream
-- next, so that they are read again.
-- KEYS  see lanes.lua
-- ARGV  as in lanes.lua; then the class, the lane after which to begin (empty: the first), max
--       queues or ids
-- Returns the last lane that was reached; empty: all were
-- Cost  O(queues * (classes + log n))
local a = 3 + 2 * count
local c, from, lane = classes[ARGV[a + 1]], '-', ''
if ARGV[a + 2] ~= '' then from = '(' .. ARGV[a + 2] .. '!' end
for i = 1, tonumber(ARGV[a + 3]) do
  local member = redis.call('ZRANGEBYLEX', c.waiting, from, '+', 'LIMIT', 0, 1)[1]
  if not member then
    lane = ''
    break
  end
  lane = string.match(member, '^%S+')
  if c.most >= 0 then
    enter(c, lane, 0)
    from = '(' .. lane .. '!'
  else
    local order, id = string.match(member, '(%S+) (%S+)$')
    local _, since, _, _, _, _, ask = parse(redis.call('HGET', lanes, id))
    redis.call('XADD', KEYS[4], '*', 'id', id, 'since', since or at) -- first: if that fails, it still waits
    drop(c, id, lane, order, ask or '-')
  end
end
serve(tonumber(ARGV[a + 3]), {}, {})
return lane
