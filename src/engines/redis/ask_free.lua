-- ask, the ways of nearly every call: the name is free and nobody waits; or it is held, others wait
-- already, and we join them. Anything else goes on below. Nothing is defined before this, and every
-- call of a command counts: these few lines decide how fast the engine is.
--
-- KEYS: the name, and its side keys: fence, line, wait, in; with foreign=share also pause and run.
-- ARGV: owner, lease in ms, '1' to wait in line, client, who, wish ('x', 's' or 'p:k:n').
local time = redis.call('TIME')
if ARGV[6] == 'x' and #KEYS == 5 then
  local now = string.sub('000000000' .. time[1], -10) .. string.sub('00000' .. time[2], -6)
  local fence = now .. '000'
  local held = redis.call('SET', KEYS[1], ARGV[1] .. ':' .. fence, 'NX', 'GET', 'PX', ARGV[2])
  if not held then
    local old = redis.call('SET', KEYS[2], fence .. ' ' .. now .. ' ' .. ARGV[4] .. ' 0 ' .. ARGV[5],
                           'EX', 86400, 'GET')
    -- Fences are 19 digits; the first 15 count tens of microseconds and fit into a number. Two
    -- apart is more than a block of 4096; nearer ones are left to exact arithmetic.
    if not old or string.sub(old, 20, 20) == ' ' and
       tonumber(string.sub(now, 1, 15)) - tonumber(string.sub(old, 1, 15)) >= 2 then
      return fence
    end
    redis.call('DEL', KEYS[1])
    redis.call('SET', KEYS[2], old, 'EX', 86400)
  elseif ARGV[3] == '1' and string.find(held, '^%x+:%d+:w$') and
         string.sub(held, 1, 32) ~= ARGV[1] and tonumber(time[2]) % 16 > 0 then
    -- One in sixteen takes the long way, which looks whether the line is full.
    local place = math.min(tonumber(ARGV[2]), math.max(1000, math.floor(ARGV[2] / 10)))
    local member = ARGV[1] .. ' x ' .. ARGV[2] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5]
    if redis.call('ZADD', KEYS[3], 'NX', now, member) == 1 then
      if redis.call('PEXPIRE', KEYS[3], place + 500, 'GT') == 0 and
         redis.call('PTTL', KEYS[3]) < 0 then
        redis.call('PEXPIRE', KEYS[3], place + 500)
      end
      return {2, now, math.floor(place / 3)}
    end
  end
end
