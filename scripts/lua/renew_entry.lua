#!lua flags=allow-oom
-- Renews the lease of an entry, if it is still the caller's: no other worker takes it over.
-- KEYS  1 stream
-- ARGV  1 group, 2 consumer, 3 entry
-- Returns 1 renewed; 0 another consumer has it, or it is done
-- Cost  O(1)
local stream = KEYS[1]
local group, consumer, entry = ARGV[1], ARGV[2], ARGV[3]

local pending = redis.call('XPENDING', stream, group, entry, entry, 1)
if not pending[1] or pending[1][2] ~= consumer then return 0 end
redis.call('XCLAIM', stream, group, consumer, 0, entry, 'JUSTID')
return 1
