#!lua flags=allow-oom
-- Uses  times
-- Puts members of the delayed set into quarantine, every one once, however many
-- schedulers try.
-- KEYS  1 delayed, 2 quarantine
-- ARGV  1 1: only those whose score is not a time, 2 cap of the quarantine, 3… of every
--       member: member, reason, fields
-- Returns how many it removed
-- Cost  O(members)
local delayed, quarantine = KEYS[1], KEYS[2]
local only_invalid, cap = ARGV[1] == '1', ARGV[2]

local removed = 0
for i = 3, #ARGV, 3 do
  local score = redis.call('ZSCORE', delayed, ARGV[i])
  if score and (not only_invalid or invalid(score)) then
    -- Appended first: if that fails, the member stays.
    redis.call('XADD', quarantine, 'MAXLEN', '~', cap, '*', 'stream', delayed, 'entry', '',
      'reason', ARGV[i + 1], 'fields', ARGV[i + 2])
    redis.call('ZREM', delayed, ARGV[i])
    removed = removed + 1
  end
end
return removed
