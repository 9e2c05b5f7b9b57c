#!lua
-- Writes progress texts for people into the hashes of jobs, if the same attempt still
-- runs. A hash that was deleted is not recreated.
-- KEYS  1… the hash of every job
-- ARGV  of every job: attempt, text
-- Returns how many were written
-- Cost  O(jobs)
local written = 0
for i, hash in ipairs(KEYS) do
  local state = text('HGET', hash, 'job')
  if string.match(state or '', '^(%d+) ') == ARGV[2 * i - 1] then
    redis.call('HSET', hash, 'progress', ARGV[2 * i])
    written = written + 1
  end
end
return written
