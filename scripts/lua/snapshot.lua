#!lua flags=allow-oom
-- Stores the version of a snapshot that is about to be saved in MySQL, if the version
-- before is the expected one: otherwise Redis is another copy of itself, or another
-- process makes a snapshot.
-- KEYS  1 snapshot
-- ARGV  1 expected version (empty: none), 2 new version
-- Returns 1 stored; 0 another version exists
-- Cost  O(1)
local snapshot, expected = KEYS[1], ARGV[1]

if (redis.call('GET', snapshot) or '') ~= expected then return 0 end
redis.call('SET', snapshot, ARGV[2])
return 1
