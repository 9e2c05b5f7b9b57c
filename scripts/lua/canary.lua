#!lua flags=allow-oom
-- Sets a subscriber's canary, which expires after a millisecond.
-- KEYS  1 canary
-- Returns 1
-- Cost  O(1)
redis.call('SET', KEYS[1], '', 'PX', 1)
return 1
