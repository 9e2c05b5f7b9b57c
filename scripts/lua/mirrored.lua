#!lua flags=allow-oom
-- Sets the number of writes to the mirror, unless it is not the expected one: then
-- Redis has lost writes, or somebody else mirrors.
-- KEYS  1 mirrored
-- ARGV  1 number that is expected, 2 the new one
-- Returns 1, or 0 where it is another one
-- Cost  O(1)
local mirrored, expected = KEYS[1], ARGV[1]

if (redis.call('GET', mirrored) or '0') ~= expected then return 0 end
redis.call('SET', mirrored, ARGV[2])
return 1
