-- release, the ways of nearly every call: it is ours, and nobody waits; or the first in line waits
-- for the whole name, and gets it. Anything else goes on below.
--
-- KEYS: as for ask. ARGV: '<owner>:<fence of 19 digits>', as it stands at the name.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then held = false end  -- no string: looked at below
if held == ARGV[1] and #KEYS == 2 then
  redis.call('DEL', KEYS[1])
  return 1
end
-- A reader, or a holder of permits, that is alone: ':s', ':p:k:n'. Then nobody waits.
if held and #KEYS == 2 and string.find(held, '^:[sp]', 53) and
   string.sub(held, 1, 52) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 1
end
local time = redis.call('TIME')
local now = time[1] .. string.sub('00000' .. time[2], -6)
if #KEYS == 2 and #now == 16 and held == ARGV[1] .. ':w' then
  local key = string.sub(KEYS[2], 1, 16) .. 'line:' .. KEYS[1]
  local head = redis.call('ZPOPMIN', key)
  local owner, offer, self, client = string.match(head[1] or '', '^(%x+) x %d+ (%d+) ((%x+) .*)$')
  if owner then
    local waited = now - head[2]
    -- Asked before anything is given: whether that client listens to this very server.
    local listening = redis.pcall('PUBSUB', 'NUMSUB', 'crosslock:to:' .. client)
    -- Nobody refreshes a place, or loses it, so soon.
    if waited >= 0 and waited < offer * 250 and listening[2] and listening[2] > 0 then
      local more = redis.call('ZCARD', key) > 0
      -- No place ends within 10 ms. Of longer waits it must be seen that the next in line lives.
      local sure = not more or waited < 10000 or waited < 1000 *
                   string.match(redis.call('ZRANGE', key, 0, 0)[1], '^%x+ %S+ %d+ (%d+)')
      local fence = now .. '000'
      local old = redis.pcall('SET', KEYS[2], fence .. (more and 'w' or ' ') .. now .. ' ' ..
                              head[2] .. ' ' .. self, 'EX', '86400', 'GET')
      local known = type(old) == 'string' and tonumber(string.sub(old, 1, 16))
      -- The first of an hour goes the long way, which notes the name.
      if sure and known and now - known >= 6 and now - now % 3600000000 <= known then
        redis.call('SET', KEYS[1], owner .. ':' .. fence .. (more and ':w' or ''), 'PX', offer)
        -- Told last: nothing is said that is not done.
        redis.pcall('PUBLISH', 'crosslock:to:' .. client,
                    'granted ' .. owner .. ' ' .. head[2] .. ' ' .. fence .. ' ' .. offer ..
                    (more and ' 1 ' or ' 0 ') .. KEYS[1])
        return 1
      end
      if known then redis.call('SET', KEYS[2], old, 'EX', '86400') end
    end
  end
  if head[1] then
    -- Back to the front, for the long way; alone in line it needs an expiry again.
    redis.call('ZADD', key, head[2], head[1])
    if redis.call('PTTL', key) < 0 then
      redis.call('PEXPIRE', key, string.match(head[1], '^%x+ %S+ %d+ (%d+)') + 500)
    end
  end
end
