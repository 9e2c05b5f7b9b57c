-- What stands behind every script: `call` is the script itself, and does one of the
-- calls. Entering Lua costs Redis about as much as a script's commands, and each
-- argument something, so calls that come together are one.
-- KEYS  those that all calls share, then those of each call
-- ARGV  1 how many keys they share, 2 how many arguments they share, 3 how many keys
--       each call has, 4… what they share, then for each call: how many arguments,
--       and these
-- Returns the answer of each call, or its error
local function slice(list, from, to)
  if to - from < 1000 then return {unpack(list, from, to)} end
  local part = {} -- Lua unpacks no more than 8000 values at once
  for i = from, to do part[#part + 1] = list[i] end
  return part
end
local shared_keys, shared, keys = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local SHARED_KEYS, SHARED = slice(KEYS, 1, shared_keys), slice(ARGV, 4, 3 + shared)
local answers, key, arg = {}, shared_keys, 4 + shared
while arg <= #ARGV do
  local args = tonumber(ARGV[arg])
  local ok, answer = pcall(call, slice(KEYS, key + 1, key + keys), slice(ARGV, arg + 1, arg + args), SHARED_KEYS, SHARED)
  local failure = type(answer) == 'table' and answer.err or not ok and answer
  -- With a code of its own: clients take some others for errors of the whole answer.
  answers[#answers + 1] = failure and {err = 'CALL ' .. failure} or answer
  key, arg = key + keys, arg + args + 1
end
finish()
return answers
