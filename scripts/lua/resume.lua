#!lua flags=allow-oom
-- Removes a pause.
-- KEYS  1 paused
-- ARGV  1 member, 2 1: only if its end has passed
-- Returns 1 removed; 0 no such pause
-- Cost  O(1)
local paused, member = KEYS[1], ARGV[1]

if ARGV[2] == '1' then
  local pause = redis.call('HGET', paused, member)
  local ends = pause and cjson.decode(pause)['until'] or 0
  if ends == 0 or now() < ends then return 0 end
end
return redis.call('HDEL', paused, member)
