-- The functions of the library. Each reads a bounded number of keys and entries.

-- list adds a title and lines below it.
local function list(line, name, items)
  if #items > 0 then line('%s:', name) end
  for _, item in ipairs(items) do line('  %s', item) end
end

-- explain adds the lines of a verdict.
local function explain(line, v, now)
  line('%s', v.says)
  if #v.steps > 0 then line('  %s', fill(v.known, 'job:    {job-status}, stage {job-stage}, report {job-report}, attempt {job-attempt}')) end
  for _, text in ipairs(v.details) do line('  %s', text) end
  for _, step in ipairs(v.steps) do line('  %s: %s', step.name, step.says) end
  local upcoming = {}
  for i, u in ipairs(v.upcoming) do upcoming[i] = stamp(u.at) .. ' (' .. far(u.at, now) .. '): ' .. u.what end
  list(line, 'What will happen', upcoming)
  list(line, 'What you can do', v.remedies)
end

-- OBEYED has the characters that terminals obey: control characters, and in UTF-8 those that change
-- the direction of writing.
local OBEYED = {'%c', '\194[\128-\159]', '\216\156', '\226\128[\142\143\170-\174]', '\226\129[\166-\169]'}

-- answer runs a function on a partition, and returns its lines.
local function answer(keys, id, run)
  if #keys ~= 1 then return redis.error_reply('NOKEY name one key: <prefix>deadlines, such as fanfold:deadlines') end
  local prefix = string.match(keys[1], '^(.*)deadlines$')
  if not prefix then return redis.error_reply('NOKEY the key must be <prefix>deadlines, such as fanfold:deadlines') end
  local lines = {}
  local function line(format, ...)
    local text = string.format(format, ...)
    for _, odd in ipairs(OBEYED) do text = string.gsub(text, odd, ' ') end
    lines[#lines + 1] = redis.status_reply(text)
  end
  local ok, err = pcall(run, prefix, line)
  if ok then return lines end
  if type(err) ~= 'table' then err = {err = tostring(err)} end
  local text = string.gsub(err.err, ' script: .*', '')
  if not string.find(text, '^WRONGTYPE') then return redis.error_reply(text) end
  lines = {}
  explain(line, conclude({is = {['wrong-type'] = true, ['redis-alone'] = true}, text = {['redis-error'] = text, id = id or '<ID>'}, at = {}}, {}))
  return lines
end

-- fanfold_why says what a job waits for.
-- KEYS  1 <prefix>deadlines of the id's partition
-- ARGV  1 id
-- Returns lines
local function fanfold_why(keys, args)
  return answer(keys, args[1], function(prefix, line)
    local id = args[1] or ''
    if #args ~= 1 or #id > 64 or not string.find(id, '^[%w_%-]+$') then error({err = 'NOID name one id: 1 to 64 of 0-9, A-Z, a-z, _ and -'}) end
    local all = begin(prefix)
    explain(line, why(all, id), all.now)
  end)
end

local TOP = '{id}  {job-report}  attempt {job-attempt}  {job-status} {done}/{target}  deadline {deadline} '

-- fanfold_top lists the running jobs of a partition, the next deadline first, and what each waits for.
-- KEYS  1 <prefix>deadlines
-- Returns lines
local function fanfold_top(keys, args)
  return answer(keys, args[1], function(prefix, line)
    if #args > 0 then error({err = 'NOARGS it takes no arguments'}) end
    local all = begin(prefix)
    line('%s', fill(all.known, '{running}'))
    local ids = redis.call('ZRANGE', prefix .. 'deadlines', 0, JOBS - 1)
    for shown, id in ipairs(ids) do
      local v = why(all, id)
      line('%s  %s', fill(v.known, v.steps[1] and TOP or '{id}'), v.says)
      if all.left <= 0 or shown == #ids and all.running > shown then
        line('... and %d more', all.running - shown)
        break
      end
    end
  end)
end

redis.register_function{function_name = 'fanfold_why', callback = fanfold_why, flags = {'no-writes'},
  description = 'Says what a Fanfold job waits for. Library version ' .. VERSION}
redis.register_function{function_name = 'fanfold_top', callback = fanfold_top, flags = {'no-writes'},
  description = 'Lists the running jobs of a Fanfold partition. Library version ' .. VERSION}
