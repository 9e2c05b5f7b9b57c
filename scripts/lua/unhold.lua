#!lua flags=allow-oom
-- Removes a hold.
-- KEYS  1 holds
-- ARGV  1 member, 2 1: only if its end has passed
-- Returns 1 removed; 0 no such hold
-- Cost  O(1)
local holds, member = KEYS[1], ARGV[1]

if ARGV[2] == '1' then
  local hold = redis.call('HGET', holds, member)
  local ends = hold and cjson.decode(hold)['until'] or 0
  if ends == 0 or now() < ends then return 0 end
end
return redis.call('HDEL', holds, member)
