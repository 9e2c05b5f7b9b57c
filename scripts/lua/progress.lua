#!lua
-- Writes into the hashes of jobs, for people, how far they are, where the same attempt still
-- runs: a hash that has gone is not made again.
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
