#!lua flags=allow-oom
-- Announces which version of a report's schedules a process has. If it is the newest version that a running
-- process has, the report's timers become those of that version: others are removed, also paused ones, and a
-- missing one is set. If it replaces one with the same times, it keeps that one's due time and pause.
-- KEYS  1 schedules, 2 timers, 3 paused, 4 anchors
-- ARGV  1 report, 2 version, or an empty string: the process does not have the report,
--       3 since when it has the version (ms), 4 time after which a version that no process announces
--       has ended (ms), 5 1: change timers (or empty: announce only), 6 number of timers of the version,
--       7… each timer's name and due time (ms), then names of timers of the report that were found
-- Returns how many timers were set or removed
-- Cost  O(versions + timers * log n)
local schedules, timers, paused, anchors = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local report, version, decide, count = ARGV[1], ARGV[2], ARGV[5], tonumber(ARGV[6])

local now = now()
local state = cjson.decode(redis.call('HGET', schedules, report) or '{"versions": {}, "timers": {}}')
local function store()
  redis.call('HSET', schedules, report, cjson.encode(state))
end
if version ~= '' then
  local known = state.versions[version] or {since = tonumber(ARGV[3])}
  known.seen = now
  state.versions[version] = known
end
if decide == '' then
  if version ~= '' then store() end
  return 0
end

local newest = ''
for hash, v in pairs(state.versions) do
  local than = state.versions[newest]
  if v.seen <= now - tonumber(ARGV[4]) then
    state.versions[hash] = nil
  elseif not than or v.since > than.since or v.since == than.since and hash > newest then
    newest = hash
  end
end
if newest ~= version then
  store()
  return 0
end
local wanted, stale, changed = {}, {}, 0
for i = 7, 6 + 2 * count, 2 do wanted[ARGV[i]] = true end
for i = 7 + 2 * count, #ARGV do state.timers[#state.timers + 1] = ARGV[i] end
for _, name in ipairs(state.timers) do
  if not wanted[name] then stale[#stale + 1] = name end
end
state.timers = {}
for i = 7, 6 + 2 * count, 2 do
  local name, due, set = ARGV[i], ARGV[i + 1], timers
  state.timers[#state.timers + 1] = name
  if redis.call('ZSCORE', paused, name) then
    redis.call('ZREM', timers, name)
  elseif not redis.call('ZSCORE', timers, name) then
    for _, old in ipairs(stale) do
      if string.match(old, '^.*-') == string.match(name, '^.*-') then
        local waits = redis.call('ZSCORE', paused, old)
        due = waits or redis.call('ZSCORE', timers, old) or due
        if waits then set = paused end
      end
    end
    redis.call('ZADD', set, due, name)
    changed = changed + 1
  end
end
for _, name in ipairs(stale) do
  redis.call('HDEL', anchors, name)
  changed = changed + redis.call('ZREM', timers, name) + redis.call('ZREM', paused, name)
end
if newest == '' then redis.call('HDEL', schedules, report) else store() end
return changed
