#!lua flags=allow-oom
-- Uses  receipts
-- Reports a push that no job answers: a refusal, or the end of a record without a job. If the
-- id has a job, the job's end answers the push: the receipts of its attempts must not become refusals.
-- KEYS  1 finished, 2 reply_to, 3 hash
-- ARGV  1 id, 2 name of the firing of the end (empty: none), 3 the middle of the names of receipts
-- Returns 1 sent; 0 the end of the job notifies the services
-- Cost  O(1)
local finished, replies, hash = KEYS[1], KEYS[2], KEYS[3]
local id, name, middle = ARGV[1], ARGV[2], ARGV[3]
if name ~= '' then redis.call('XADD', finished, '*', 'name', name, 'due', int(now()), 'late', '0') end
if string.match(text('HGET', hash, 'job') or '', '^%d+ %u+ ') then return 0 end
send_receipts(replies, finished, id, middle)
redis.pcall('HDEL', replies, id)
return 1
