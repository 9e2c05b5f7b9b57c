-- Precedes scripts that change one job. The field `job` of its hash is a line:
-- attempt status stage fence deadline done/target bytes open expires started of
-- such as: 1 RUN 1 0 1763773822000 1/2 700 |users#2| 1763774422000 1763773222000 r/hash/digest

local FORM = '^(%d+) (%u+) (%d+) (%d+) (%d+) (%d+)/(%d+) (%d+) (%S+) (%d+) (%d+) (%S+)$'

-- read returns the state of a job as a table of texts; nil if it has none.
local function read(hash)
  local state = redis.call('HGET', hash, 'job')
  if not state then return nil end
  local j = {}
  j.attempt, j.status, j.stage, j.fence, j.deadline, j.done, j.target, j.bytes, j.open, j.expires, j.started, j.of =
    string.match(state, FORM)
  if not j.attempt then error({err = 'BROKEN the field job is not a state: ' .. string.sub(state, 1, 100)}) end
  return j
end

-- line returns the text of a state.
local function line(j)
  return table.concat({j.attempt, j.status, j.stage, j.fence, j.deadline, j.done .. '/' .. j.target, j.bytes, j.open,
    j.expires, j.started, j.of}, ' ')
end

-- generation returns the generation of an open listener and the positions of the bars
-- around it; nil if the listener is not open in this stage. It is 0 until a worker takes
-- the task over.
local function generation(j, listener)
  local from, to = string.find(j.open, '|' .. listener .. '|', 1, true)
  if from then return '0', from, to end
  from, to = string.find(j.open, '|' .. listener .. '#', 1, true)
  if not from then return nil end
  local g, last = string.match(j.open, '^(%d+)()|', to + 1)
  return g, from, last
end

-- raise gives an open listener its next generation, which it returns. Every worker with an
-- older one is refused from then on.
local function raise(j, listener)
  local g, from, to = generation(j, listener)
  g = int(g + 1)
  j.open = string.sub(j.open, 1, from) .. listener .. '#' .. g .. string.sub(j.open, to)
  return g
end

-- all returns the names of the listeners of all stages, with commas, from `listeners`: names with commas,
-- stages with semicolons. One of an earlier stage can be open again, see reopen.lua.
local function all(listeners) return (string.gsub(listeners or '', ';', ',')) end

-- replaced answers a worker whose generation or fence is no longer the current one: 0 if
-- another worker has its entry; -1 if the other worker has another entry. Then this
-- entry is a duplicate, and is acknowledged.
local function replaced(hash, step, stream, group, entry)
  if entry == '' or redis.call('HGET', hash, step .. ':entry') == entry then return 0 end
  acknowledge(stream, group, entry)
  return -1
end
