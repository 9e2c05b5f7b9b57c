-- Formats times and durations as inspect.Short, When and Stamp do, in UTC.

-- short formats milliseconds for people.
local function short(ms)
  if ms < 0 then return '-' .. short(-ms) end
  if ms >= HORIZON then return 'more than 10 years' end
  if ms < 10000 then
    local tenths = math.floor(ms / 100 + 0.5)
    if tenths == 0 then return '0s' end
    if tenths < 10 then return tenths .. '00ms' end
    if tenths % 10 == 0 then return tenths / 10 .. 's' end
    return math.floor(tenths / 10) .. '.' .. tenths % 10 .. 's'
  end
  local s = math.floor(ms / 1000 + 0.5)
  if s < 60 then return s .. 's' end
  local text = math.floor(s / 60) % 60 .. 'm' .. s % 60 .. 's'
  if s < 3600 then return text end
  return string.format('%d', math.floor(s / 3600)) .. 'h' .. text
end

-- far formats the distance of a time from now.
local function far(at, now)
  if at < now then return short(now - at) .. ' ago' end
  return 'in ' .. short(at - now)
end

-- stamp formats a time. It counts days from March 1 of the year 0.
local function stamp(ms)
  local s = math.floor(ms / 1000)
  local days = math.floor(s / 86400) + 719468
  local era = math.floor(days / 146097)
  local day = days - era * 146097
  local year = math.floor((day - math.floor(day / 1460) + math.floor(day / 36524) - math.floor(day / 146096)) / 365)
  day = day - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * day + 2) / 153)
  day = day - math.floor((153 * month + 2) / 5) + 1
  month = month < 10 and month + 3 or month - 9
  year = year + era * 400 + (month <= 2 and 1 or 0)
  s = s % 86400
  return string.format('%04d-%02d-%02d %02d:%02d:%02d +00:00', year, month, day, math.floor(s / 3600), math.floor(s / 60) % 60, s % 60)
end

-- shell quotes a word for a shell if necessary.
local function shell(word)
  if string.find(word, '^[%w_%-.:/@,+]+$') then return word end
  return "'" .. string.gsub(word, "'", "'\\''") .. "'"
end

-- title returns the name of a step in a sentence.
local function title(step) return step == '@fanin' and 'fan-in' or step end
