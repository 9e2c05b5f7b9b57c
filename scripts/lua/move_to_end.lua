#!lua flags=allow-oom
-- Moves a pending entry to the end of its stream.
-- KEYS  1 stream
-- ARGV  1 group, 2 entry, 3… its fields and values
-- Returns 1, now or before
-- Cost  O(1)
local stream, group, entry = KEYS[1], ARGV[1], ARGV[2]

if redis.call('XACK', stream, group, entry) == 1 then
  redis.call('XADD', stream, '*', unpack(ARGV, 3))
  redis.call('XDEL', stream, entry)
end
return 1
