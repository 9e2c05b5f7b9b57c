#!lua flags=allow-oom
-- Pushes ids that wait for a report, in the order of the arguments. Those that no longer wait are
-- not pushed.
-- KEYS  1 ids that wait, 2 jobs
-- ARGV  ids
-- Returns how many were pushed
-- Cost  O(ids * log n)
local n = 0
for _, id in ipairs(ARGV) do
  local since = redis.call('ZSCORE', KEYS[1], id)
  if since then
    redis.call('XADD', KEYS[2], '*', 'id', id, 'since', int(since)) -- first: if that fails, it still waits
    redis.call('ZREM', KEYS[1], id)
    n = n + 1
  end
end
return n
