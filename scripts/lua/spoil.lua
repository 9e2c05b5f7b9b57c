#!lua flags=allow-oom
-- Uses  job
-- Says that the dataset of a listener is lost in the spool: it is not kept when its job fails. A dataset that
-- the listener has written since is not touched.
-- KEYS  1 hash
-- ARGV  1 attempt, 2 listener, 3 its ticket when it was read
-- Returns 1 noted; -1 gone
-- Cost  O(1)
local hash, attempt, listener = KEYS[1], ARGV[1], ARGV[2]

local j = read(hash)
if not j or j.attempt ~= attempt or redis.call('HGET', hash, listener .. ':at') ~= ARGV[3] then return -1 end
redis.call('HSET', hash, listener .. ':kept', attempt .. ' 0')
return 1
