-- Collects the facts of one step of a job, a listener's task or fan-in, and applies the rules.

-- queue returns the stream that has the entry of a step and that entry, or the last possible stream
-- and nil.
local function queue(all, job, step)
  local s
  for _, name in ipairs(step == '@fanin' and {'fanin:large', 'fanin'} or {'task:' .. step}) do
    s = stream(all, all.prefix .. name)
    local e = entry(s, job.id .. ' ' .. job.attempt)
    if e then return s, e end
  end
  return s, nil
end

-- judge returns the kind of a step, its text, its facts and its branch.
local function judge(all, job, step)
  local now, fold = all.now, step == '@fanin'
  local have = redis.call('HMGET', job.hash, step .. ':owner', step .. ':lease', step .. ':taken', step .. ':tries',
    step .. ':error', step .. ':blame', step .. ':next', step .. ':waits', step .. ':part')
  local owner, lease, taken, tries = have[1] or '', tonumber(have[2] or 0), tonumber(have[3] or 0), tonumber(have[4] or 0)
  local failed, due, waits = have[5] or '', tonumber(have[7] or 0), have[8] or ''
  local rows = string.match(have[9] or '', ' rows=(%d+)') or '0'
  if fold then lease, taken, waits, rows = 0, 0, '', '0'
  elseif owner ~= '' then tries = tries + 1 end

  local of, silence, max = job.definition and job.definition.listeners[step] or nil, all.config.lease, 0
  if fold then
    of = nil
    if job.definition and not job.committed then max = job.definition.tries end
  elseif of then
    max = of.tries
    if of.kind == 'external' then silence = of.silence end
  end
  local attempt = job.id .. '/' .. job.attempt .. '/'
  local back = delayed(all, fold and {attempt .. '@fanin', attempt .. '@record'} or {attempt .. step})
  if back and back.due then due = back.due end
  local s, e = queue(all, job, step)
  if e and e.consumer and lease == 0 then
    if owner == '' then owner = e.consumer end
    lease, tries = now + silence - e.idle, math.max(tries, 1)
    if taken == 0 then taken = tonumber(string.match(e.id, '^%d+')) end
  end
  local limit, used, holders, holds = of and of.slots or 0, 0, 'jobs ', false
  if limit > 0 and all.config.home then
    used, holders, holds = slots(all, of.source, attempt .. step .. '/')
  else
    limit = 0
  end
  local paused = all.paused['listener/' .. step]
  local known = {outer = job.known, at = {next = due ~= 0 and due or nil}, is = {
    fold = fold, owner = owner ~= '', ['lease-over'] = now > lease, back = back ~= nil, next = due ~= 0, ['past-due'] = now - due > MISSED,
    entry = e ~= nil, whole = s.whole, error = failed ~= '', ['for-other'] = waits ~= '', ['listener-paused'] = paused ~= nil,
    ['blames-records'] = have[6] == 'records', ['blames-sink'] = have[6] == 'sink', ['alone-in'] = s.live == 0, ['tries-max'] = max ~= 0,
    bounded = limit > 0, ['slots-full'] = limit > 0 and used >= limit, ['slots-used'] = used > 0, ['has-slot'] = holds,
    ['blames-slots'] = have[6] == 'slots', ['blames-rate'] = have[6] == 'rate', ['blames-tasks'] = have[6] == 'tasks',
    ahead = e ~= nil and e.ahead > 0, taken = taken ~= 0, rows = rows ~= '0', api = of ~= nil and of.kind == 'http', external = of ~= nil and of.kind == 'external',
  }, text = {
    name = step, title = title(step), owner = owner, error = failed, waits = waits, rows = rows, ['tries-max'] = tostring(max),
    next = far(due, now), ['lease-over'] = short(now - lease), taken = short(now - taken), ['paused-since'] = stamp(paused or 0),
    slots = tostring(limit), ['slots-used'] = tostring(used), holders = holders, stream = s.key, ['stream-in-shell'] = shell(s.key), length = tostring(s.length), workers = tostring(s.live),
    ['stream-searched'] = tostring(s.searched), ['entries-before'] = tostring(e and e.ahead or 0), ['source-name'] = of and of.source or '',
  }}
  if of and of.kind == 'mysql' and (of.timeout or 0) > 0 and taken ~= 0 then known.at.timeout = taken + of.timeout end
  if fact(known, 'comes') then known.at.poll = known.at.next end
  if fact(known, 'retries') then tries = tries + 1 end
  known.is.tries, known.text.tries = tries ~= 0, tostring(tries)
  local branch = first(known, RULES.step)
  return {name = step, kind = branch.kind, says = fill(known, branch.says), known = known, branch = branch}
end
