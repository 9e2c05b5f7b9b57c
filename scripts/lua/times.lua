-- Precedes scripts that read scores that any service may write.

-- horizon is the time from which on a score is not a due time: ten years from now.
local function horizon() return now() + HORIZON end

-- timeless tells whether a score is not a due time, in seconds or milliseconds.
local function timeless(score)
  local n = tonumber(score)
  return n == -math.huge or n >= horizon() or n < 100000000000 and n * 1000 >= horizon()
end
