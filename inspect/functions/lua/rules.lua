-- Evaluates the rules of why as inspect/rule.go does. The facts of a job, or of a step, are a table
-- with `is`, `text` and `at` (times), and `outer` for shared facts.

-- find looks up a name in the facts.
local function find(known, what, name)
  while known do
    local value = known[what][name]
    if value ~= nil then return value end
    known = known.outer
  end
end

-- conditions caches parsed conditions: names, and whether each must hold.
local conditions = {}

local function condition(when)
  local list = {}
  for name in string.gmatch(when, '%S+') do
    local bare = string.match(name, '^!(.*)')
    list[#list + 1] = {name = bare or name, is = bare == nil}
  end
  conditions[when] = list
  return list
end

local fact

-- holds returns whether all facts of a condition hold.
local function holds(known, when)
  for _, one in ipairs(conditions[when] or condition(when)) do
    if fact(known, one.name) ~= one.is then return false end
  end
  return true
end

-- fact returns whether a fact holds: a known one, or one of RULES.made, which it then caches.
function fact(known, name)
  local is = find(known, 'is', name)
  if is ~= nil then return is end
  local value = string.match(name, '^1:(.*)')
  is = value ~= nil and find(known, 'text', value) == '1'
  for _, way in ipairs(RULES.made[name] or {}) do is = is or holds(known, way) end
  known.is[name] = is
  return is
end

-- first returns the first branch of a rule that holds; nil if none does.
local function first(known, rule)
  for _, branch in ipairs(rule) do
    if holds(known, branch.when) then return branch end
  end
end

-- fill replaces the names in a text by phrases and values.
local function fill(known, text)
  return (string.gsub(text or '', '{([^}]*)}', function(name)
    local phrase = RULES.phrases[name]
    if not phrase then return find(known, 'text', name) or '' end
    local branch = first(known, phrase)
    return branch and fill(known, branch.says) or ''
  end))
end

-- add adds the details, remedies and time of a branch to a verdict.
local function add(verdict, known, branch)
  for _, text in ipairs(branch.more) do table.insert(verdict.details, fill(known, text)) end
  for _, text in ipairs(branch.todo) do
    text = fill(known, text)
    if text ~= '' and not verdict.told[text] then table.insert(verdict.remedies, text) end
    verdict.told[text] = true
  end
  local at = branch.at and find(known, 'at', branch.at)
  if at then table.insert(verdict.upcoming, {at = at, order = #verdict.upcoming, what = fill(known, branch.happens)}) end
end

-- severity returns the position of a kind in RULES.severity; smaller is worse.
local function severity(kind)
  for i, one in ipairs(RULES.severity) do
    if one == kind then return i end
  end
  return 0
end
