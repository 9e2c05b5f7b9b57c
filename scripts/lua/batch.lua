-- The end of a script that does several calls in one: `call` is the script itself.
-- Entering Lua costs Redis about as much as a script's commands.
-- KEYS  those of each call
-- ARGV  for each call: how many keys, how many arguments, and the arguments
-- Returns the answer of each call, or its error
local answers, key, arg = {}, 1, 1
while arg <= #ARGV do
  local keys, args = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1])
  local ok, answer = pcall(call, {unpack(KEYS, key, key + keys - 1)}, {unpack(ARGV, arg + 2, arg + 1 + args)})
  local failure = type(answer) == 'table' and answer.err or not ok and answer
  -- With a code of its own: clients take some others for errors of the whole answer.
  answers[#answers + 1] = failure and {err = 'CALL ' .. failure} or answer
  key, arg = key + keys, arg + 2 + args
end
finish()
return answers
