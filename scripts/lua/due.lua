#!lua flags=allow-oom
-- Uses  times
-- Lists what is due in the delayed set. A score below 10^11 is in seconds and is
-- rewritten in milliseconds; one that is too low for that, such as 0, means now. One
-- that is not finite, or more than ten years away, is not a time and is listed apart.
-- KEYS  1 delayed
-- ARGV  1 max members to list of every kind, 2 how many that are due to skip
-- Returns {wait until the next one is due, in ms, or -1 if there is none, or 0 if more
--       must be rewritten; how many members are invalid, for every one of these the
--       member and its score, members that are due…}
-- Cost  O(log n + members, with those that are skipped)
local delayed, max, skip = KEYS[1], ARGV[1], ARGV[2]

local more = to_millis(delayed, max)
local answer = invalid_of(delayed, max)
table.insert(answer, 1, #answer / 2)
local due = due_of(delayed, skip, max)
for i = 1, #due, 2 do answer[#answer + 1] = due[i] end
table.insert(answer, 1, more and 0 or until_next(delayed))
return answer
