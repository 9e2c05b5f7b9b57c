#!lua flags=allow-oom
-- Keeps an entry from being claimed by others, if it is still the caller's.
-- KEYS  1 stream
-- ARGV  1 group, 2 consumer, 3 entry
-- Returns 1 kept; 0 it is somebody else's, or done
-- Cost  O(1)
local stream = KEYS[1]
local group, consumer, entry = ARGV[1], ARGV[2], ARGV[3]

local pending = redis.call('XPENDING', stream, group, entry, entry, 1)
if not pending[1] or pending[1][2] ~= consumer then return 0 end
redis.call('XCLAIM', stream, group, consumer, 0, entry, 'JUSTID')
return 1
