-- Uses  receipts
-- Precedes scripts that start attempts of jobs.

-- standing returns what start.lua returns for a job that has a state or a tombstone; 1 if the attempt may
-- start.
local function standing(hash, tombstone, attempt, of)
  local state, broken = text('HGET', hash, 'job')
  local have, its = string.match(state or '', '^(%d+) .* (%S+)$')
  if not have and not broken then
    state, broken = text('GET', tombstone)
    have, its = string.match(state or '', '^(%d+) %u+ (%S+)')
  end
  if have and tonumber(have) >= tonumber(attempt) then return have == attempt and its == of and 2 or -5 end
  return broken and -6 or 1
end

-- announce appends the event of a job that starts. Pushed (empty: unknown) is when its id was, and reused are the
-- listeners whose datasets it reuses, with commas.
local function announce(events, cap, id, attempt, report, pushed, reused)
  local more = {}
  if pushed ~= '' then more = {'waited', int(math.max(0, now() - pushed))} end
  if reused ~= '' then more[#more + 1], more[#more + 2] = 'reused', reused end
  redis.call('XADD', events, 'MAXLEN', '~', cap, '*', 'id', id, 'attempt', attempt, 'event', 'started', 'report', report,
    unpack(more))
end

-- store writes the hash of a job that starts: its line, its counters and what else is known of it. An empty
-- text is not stored.
local function store(hash, expires, state, done, target, parameters, listeners, waits, keep, parent, pushed)
  redis.call('HSET', hash, 'job', state, 'queryDoneCount', done, 'queryTarget', target, 'parameters', parameters,
    'listeners', listeners)
  if waits ~= '' then redis.call('HSET', hash, 'waits', waits) end
  if keep ~= '' then redis.call('HSET', hash, 'keep', keep) end
  if parent ~= '' then redis.call('HSET', hash, 'traceparent', parent, 'pushed', pushed) end
  redis.call('PEXPIREAT', hash, expires)
end
