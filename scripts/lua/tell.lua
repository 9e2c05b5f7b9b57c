#!lua flags=allow-oom
-- Uses  receipts
-- Tells of a push that no job answers: of a refusal, or of the end of a record without a job.
-- KEYS  1 finished, 2 reply_to
-- ARGV  1 id, 2 name of the firing of the end (empty: none), 3 the middle of the names of receipts
-- Returns 1
-- Cost  O(1)
local finished, replies = KEYS[1], KEYS[2]
local id, name, middle = ARGV[1], ARGV[2], ARGV[3]
if name ~= '' then redis.call('XADD', finished, '*', 'name', name, 'due', int(now()), 'late', '0') end
tell(replies, finished, id, middle)
redis.pcall('HDEL', replies, id)
return 1
