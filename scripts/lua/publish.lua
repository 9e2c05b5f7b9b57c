#!lua flags=allow-oom
-- The point of no return of jobs, just before their files are committed: from here on
-- timeout and cancel lose. Claims a job that was folded without a claim; its data cannot
-- have changed since it became READY.
-- KEYS  the hash of every job
-- ARGV  of every job: attempt, stage, fence (empty: not claimed), entry (empty: none)
-- Returns for every job its fence; 0 another worker has it; -1 gone; -6 the key is not a
--       job; -8 the deadline has passed
-- Cost  O(jobs)
local call, match, sub = redis.call, string.match, string.sub
local out, at = {}, now()
for i = 1, #KEYS do
  local hash, attempt, stage, mine, entry = KEYS[i], ARGV[4 * i - 3], ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i]
  local outcome, state, broken = -1, text('HGET', hash, 'job')
  local was, status, is, fence, deadline, rest = match(state or '', '^(%d+) (%u+) (%d+) (%d+) (%d+)()')
  if broken or state and not was then
    outcome = -6
  elseif was == attempt and is == stage then
    if mine == '' and status == 'READY' then
      outcome = fence + 1
    elseif mine == fence and (status == 'FOLD' or status == 'PUBLISHING') then
      outcome = tonumber(fence)
    elseif status == 'FOLD' or status == 'PUBLISHING' or status == 'FAILING' then
      outcome = 0
      if mine == '' and status == 'PUBLISHING' and entry ~= '' then
        -- Its own call before this one, whose answer was lost?
        local have = call('HMGET', hash, '@fanin:entry', '@fanin:owner')
        if have[1] == entry and not have[2] then outcome = tonumber(fence) end
      end
    end
    if outcome > 0 and status ~= 'PUBLISHING' then
      local following = attempt .. ' PUBLISHING ' .. stage .. ' ' .. int(outcome) .. ' ' .. deadline .. sub(state, rest)
      if at >= tonumber(deadline) then
        outcome = -8
      elseif mine == '' and entry ~= '' then
        call('HSET', hash, 'job', following, '@fanin:entry', entry)
      else
        call('HSET', hash, 'job', following)
      end
    end
  end
  out[i] = outcome
end
return out
