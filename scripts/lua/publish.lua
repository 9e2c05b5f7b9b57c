#!lua flags=allow-oom
-- The point of no return of jobs, just before their files are committed: from here on
-- timeout and cancel lose. Claims a job that was folded without a claim; its data cannot
-- have changed since it became READY.
-- KEYS  the hash of every job
-- ARGV  of every job: attempt, stage, fence (empty: not claimed)
-- Returns for every job its fence; 0 another worker has it; -1 gone; -6 the key is not a
--       job; -8 the deadline has passed
-- Cost  O(jobs)
local call, match, sub = redis.call, string.match, string.sub
local out, at = {}, now()
for i = 1, #KEYS do
  local attempt, stage, mine = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
  local outcome, text = -1, redis.pcall('HGET', KEYS[i], 'job')
  if type(text) == 'table' and text.err then
    text, outcome = '', -6
  end
  local was, status, is, fence, deadline, rest = match(text or '', '^(%d+) (%u+) (%d+) (%d+) (%d+)()')
  if was == attempt and is == stage then
    if mine == '' and status == 'READY' then
      outcome = fence + 1
    elseif mine ~= '' and mine == fence and (status == 'FOLD' or status == 'PUBLISHING') then
      outcome = tonumber(fence)
    elseif status == 'FOLD' or status == 'PUBLISHING' or status == 'FAILING' then
      outcome = 0
    end
    if outcome > 0 and status ~= 'PUBLISHING' then
      if at >= tonumber(deadline) then
        outcome = -8
      else
        call('HSET', KEYS[i], 'job', attempt .. ' PUBLISHING ' .. stage .. ' ' .. int(outcome) .. ' ' .. deadline .. sub(text, rest))
      end
    end
  end
  out[i] = outcome
end
return out
