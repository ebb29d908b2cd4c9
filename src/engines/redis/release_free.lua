-- release, the ways of nearly every call: it is ours, and nobody waits; or the first in line waits
-- for the whole name, and gets it. Anything else goes on below.
--
-- KEYS: as for ask. ARGV: owner, fence (19 digits).
local held = redis.call('GET', KEYS[1])
local mine = ARGV[1] .. ':' .. ARGV[2]
if held == mine and #KEYS == 5 then
  redis.call('DEL', KEYS[1])
  return 1
end
local time = redis.call('TIME')
if held == mine .. ':w' and #KEYS == 5 then
  local line = redis.call('ZRANGE', KEYS[3], 0, 1, 'WITHSCORES')
  local owner, lease, client, who = string.match(line[1] or '', '^(%x+) x (%d+) (%x+) (.*)$')
  if owner then
    local now = string.sub('000000000' .. time[1], -10) .. string.sub('00000' .. time[2], -6)
    local offer = math.min(tonumber(lease), math.max(1000, math.floor(lease / 10)))
    local waited = (tonumber(now) - tonumber(line[2])) / 1000
    -- Nobody refreshes a place, or loses it, so soon.
    if waited >= 0 and waited < offer / 4 then
      local fence, wanted = now .. '000', line[3] and 'w' or ' '
      local old = redis.call('SET', KEYS[2], fence .. wanted .. now .. ' ' .. client .. ' ' ..
                             line[2] .. ' ' .. who, 'EX', 86400, 'GET')
      if old and tonumber(string.sub(now, 1, 15)) - tonumber(string.sub(old, 1, 15)) >= 2 then
        local heard = redis.pcall('PUBLISH', 'crosslock:to:' .. client, 'granted ' .. owner .. ' ' ..
                                  line[2] .. ' ' .. fence .. ' ' .. offer ..
                                  (line[3] and ' 1 ' or ' 0 ') .. KEYS[1])
        if type(heard) == 'number' and heard > 0 then
          redis.call('ZREM', KEYS[3], line[1])
          redis.call('SET', KEYS[1], owner .. ':' .. fence .. (line[3] and ':w' or ''), 'PX', offer)
          return 1
        end
      end
      if old then redis.call('SET', KEYS[2], old, 'EX', 86400) end
    end
  end
end
