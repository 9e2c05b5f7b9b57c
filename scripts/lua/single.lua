-- The end of a script that does one call: `call` is the script itself.
local ok, answer = pcall(call, KEYS, ARGV)
finish()
if ok or type(answer) == 'table' then return answer end
return {err = answer}
