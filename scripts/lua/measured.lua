#!lua flags=allow-oom
-- Stores how busy a source is, for all processes.
-- KEYS  1 what was measured
-- ARGV  1 the text, not empty, 2 how long it is valid (ms)
-- Returns 1
-- Cost  O(1)
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
