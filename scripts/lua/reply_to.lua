#!lua
-- Stores to which streams of services the receipts of pushed ids are sent.
-- KEYS  1 reply_to
-- ARGV  1 max streams of an id; then of every push: id, stream/entry
-- Returns for every push 1 stored, now or before; 0 the id has that many other streams
-- Cost  O(pushes)
local replies, max, out = KEYS[1], tonumber(ARGV[1]), {}
for i = 2, #ARGV, 2 do
  local id, push = ARGV[i], ARGV[i + 1]
  local pushes, found, n = redis.call('HGET', replies, id), false, 0
  for stream in string.gmatch(pushes or '', '([^%s/]+)/') do
    found, n = found or stream == string.match(push, '^[^/]*'), n + 1
  end
  if not found and n < max then
    redis.call('HSET', replies, id, pushes and pushes .. ' ' .. push or push)
  end
  out[#out + 1] = (found or n < max) and 1 or 0
end
return out
