-- Collects the facts of one job, and applies the rules as inspect/why_job.go does.

-- state reads the state of a job into a table of facts, which its steps share.
local function state(all, id)
  local job = {id = id, hash = all.config.hash .. id, open = {}}
  local is, text = {}, {id = id}
  job.known = {outer = all.known, is = is, text = text, at = {}}
  local ok, j = pcall(read, job.hash)
  if not ok then
    local err = type(j) == 'table' and j.err or tostring(j)
    is['broken-state'], text['state-error'] = true, string.gsub(err, ' script: .*', '')
    return job
  end
  if not j then
    local ended = redis.call('GET', job.hash .. ':ended')
    if ended then
      is.state = true
      text['job-status'], text['job-end'] = string.match(ended, '^%d+ (%S+) %S+ %S+ (.*)')
    end
    return job
  end
  job.attempt, job.committed = j.attempt, j.status == 'PUBLISHING' or j.status == 'FAILING'
  local name, hash = string.match(j.of, '^(.*)/([^/]*)/[^/]*$')
  if not name then name, hash = '', j.of end
  local ours = all.config.reports[name]
  if ours and ours.hash == hash then job.definition = ours end
  if j.status == 'RUN' then
    for listener in string.gmatch(j.open, '[^|]+') do job.open[#job.open + 1] = string.match(listener, '^[^#]*') end
  else
    job.open = {'@fanin'}
  end
  local deadline, last, done, target = tonumber(j.deadline), all.seen[name .. '/' .. hash], tonumber(j.done), tonumber(j.target)
  for fact, value in pairs({
    runs = true, state = true, ['state-runs'] = true, failing = j.status == 'FAILING', committed = job.committed,
    report = ours ~= nil, definition = job.definition ~= nil, seen = last ~= nil, restarts = ours ~= nil and ours.restarts,
    ['deadline-waits'] = job.definition ~= nil and job.definition.deadline_waits, ['some-done'] = done > 0 and done < target,
    ['deadline-missed'] = not job.committed and all.now - deadline > MISSED, ['deadline-ahead'] = all.now <= deadline,
    orphan = all.now < deadline and j.status ~= 'FAILING' and not job.definition and all.any and not (last and all.now - last < DEFINITION_SILENCE),
  }) do is[fact] = value end
  for name, value in pairs({
    ['job-attempt'] = j.attempt, ['next-attempt'] = int(j.attempt + 1), ['job-report'] = name, ['job-status'] = j.status, ['job-stage'] = j.stage,
    definition = hash, done = j.done, target = j.target, deadline = far(deadline, all.now), seen = last and far(last, all.now),
    reason = redis.call('HGET', job.hash, 'reason') or '',
  }) do text[name] = value end
  job.known.at.deadline, job.known.at.restart = deadline, last and last + all.config.grace
  return job
end

-- waiting collects the facts of an id without a running job.
local function waiting(all, job, known)
  local id, is, text = job.id, known.is, known.text
  local members = {id}
  for poll = 1, POLLS do members[poll + 1] = id .. '/' .. poll .. '/@trigger' end
  local push = delayed(all, members)
  if push then
    is.push, is['push-due'], is['push-of-id'] = true, push.due ~= nil, push.member == id
    is.contender = redis.call('ZSCORE', all.prefix .. 'contenders', id) ~= false
    text.poll, text['push-score'] = string.match(push.member, '/(%d+)/') or '0', push.score == math.huge and '+Inf' or push.score == -math.huge and '-Inf' or tostring(push.score)
    if push.due then
      is['push-missed'], text['push-due'], known.at['push-due'] = all.now - push.due > MISSED, far(push.due, all.now), push.due
    end
  end
  local s = stream(all, all.prefix .. 'jobs')
  local e = entry(s, id)
  is.alive, is['jobs-whole'], text['jobs-searched'] = s.live > 0, s.whole, tostring(s.searched)
  if e then
    is.queued, is['ids-before-none'], text['ids-before'] = true, e.ahead == 0, tostring(e.ahead)
    if e.consumer then
      is.read, is.silent, text.reader, text['read-ago'] = true, e.idle > all.config.lease, e.consumer, short(e.idle)
    end
  end
  is.full, is['full-memory'] = all.running >= all.config.running_jobs, all.memory > all.config.memory
  local dead = redis.call('ZSCORE', all.prefix .. 'dead', id)
  is.dead, text['dead-since'] = dead ~= false, stamp(tonumber(dead or 0))
  for member, since in pairs(all.paused) do
    local report = string.match(member, '^report/(.*)')
    if report and redis.call('ZSCORE', all.prefix .. 'waiting:' .. report, id) then
      is['report-paused'], text.report, text['report-paused'] = true, report, stamp(since)
    end
  end
  for name, report in pairs(all.config.reports) do
    if (report.running or 0) > 0 and redis.call('ZSCORE', all.prefix .. 'waiting:' .. name, id) then
      is.limited, text.report, text['report-limit'] = true, name, tostring(report.running)
    end
  end
  local e = aside(all, id)
  if e then
    is.aside, text['aside-at'] = true, far(e.at, all.now)
    text['aside-reason'], text['aside-stream'] = e.reason or '', e.stream or ''
    text['exact-id'] = string.match(text['aside-reason'], '^the record\'s id is "([^"]+)": push exactly that$')
    is['other-form'] = text['exact-id'] ~= nil
  end
end

-- conclude makes a verdict from the facts of a job and its steps.
local function conclude(known, steps, worst)
  local v = {known = known, steps = steps, details = {}, upcoming = {}, remedies = {}, told = {}}
  for _, step in ipairs(steps) do add(v, step.known, step.branch) end
  local branch = first(known, RULES.job)
  v.says = fill(known, branch.says)
  add(v, known, branch)
  known.is['=' .. (branch.kind or worst.kind)] = true
  for _, rule in ipairs(RULES.notes) do
    local note = first(known, rule)
    if note then
      if note.says ~= '' then table.insert(v.details, fill(known, note.says)) end
      add(v, known, note)
    end
  end
  table.sort(v.upcoming, function(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end)
  return v
end

-- why returns the verdict on an id.
local function why(all, id)
  local job = state(all, id)
  local known = {outer = job.known, is = {}, text = {}, at = {}}
  local steps, names, worst = {}, {}, nil
  for i, name in ipairs(job.open) do
    steps[i], names[i] = judge(all, job, name), title(name)
    if not worst or severity(steps[i].kind) < severity(worst.kind) then worst = steps[i] end
  end
  all.left = all.left - #steps
  if worst then
    known.is.worst, known.is.several = true, #steps > 1
    known.is['worst-running'], known.is['worst-ending'] = worst.kind == 'running', worst.kind == 'ending'
    known.text['worst-title'], known.text['worst-says'], known.text.names = title(worst.name), worst.says, table.concat(names, ', ')
  end
  if not fact(known, 'runs') then waiting(all, job, known) end
  return conclude(known, steps, worst)
end
