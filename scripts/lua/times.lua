-- Precedes scripts that read scores that any service may write. A score below 10^11 is in seconds.

-- horizon is the time from which on a score is not a due time: ten years from now.
local function horizon() return now() + HORIZON end

-- invalid tells whether a score is not a due time, in seconds or milliseconds.
local function invalid(score)
  local n = tonumber(score)
  return n == -math.huge or n >= horizon() or n < 100000000000 and n * 1000 >= horizon()
end

-- to_millis rewrites at most max scores of a set that are in seconds. One that is too low for
-- seconds, such as 0, becomes now. It returns whether there may be more.
local function to_millis(set, max)
  local bound = '(' .. int(math.ceil(horizon() / 1000))
  local found = redis.call('ZRANGEBYSCORE', set, '(-inf', bound, 'WITHSCORES', 'LIMIT', 0, max)
  for i = 1, #found, 2 do
    local score = tonumber(found[i + 1]) * 1000
    if score < 100000000000 then score = now() end
    redis.call('ZADD', set, string.format('%.0f', score), found[i])
  end
  return #found == 2 * tonumber(max)
end

-- invalid_of returns members of a set whose score is not a due time, each followed by the score:
-- at most max that are too low, in seconds, and in milliseconds.
local function invalid_of(set, max)
  local found, seconds = {}, int(math.ceil(horizon() / 1000))
  for _, bounds in ipairs({{'-inf', '-inf'}, {seconds, '(100000000000'}, {int(horizon()), '+inf'}}) do
    for _, text in ipairs(redis.call('ZRANGEBYSCORE', set, bounds[1], bounds[2], 'WITHSCORES', 'LIMIT', 0, max)) do
      found[#found + 1] = text
    end
  end
  return found
end

-- due_of returns members of a set that are due, each followed by its score: at most max, after
-- skip of them. Seconds that are not rewritten yet are not due.
local function due_of(set, skip, max)
  return redis.call('ZRANGEBYSCORE', set, 100000000000, int(now()), 'WITHSCORES', 'LIMIT', skip, max)
end

-- until_next returns how long it is (ms) until the next member of a set is due, at most a day,
-- or -1 if there is none.
local function until_next(set)
  local first = redis.call('ZRANGEBYSCORE', set, '(' .. int(now()), '(' .. int(horizon()), 'WITHSCORES', 'LIMIT', 0, 1)
  return first[2] and math.min(math.ceil(tonumber(first[2])) - now(), 86400000) or -1
end
