-- ask, the way of nearly every call: the name is free, nobody waits, one exclusive holder goes in.
-- Anything else goes on below. Nothing is defined before this: a closure costs time, too.
--
-- KEYS: the name, and its side keys: fence, line, wait, in; with foreign=share also pause and run.
-- ARGV: owner, lease in ms, '1' to wait in line, client, who, wish ('x', 's' or 'p k n').
local time = redis.call('TIME')
if ARGV[6] == 'x' and #KEYS == 5 and redis.call('EXISTS', KEYS[1], KEYS[4]) == 0 then
  local micros = string.sub('00000' .. time[2], -6)
  local now = string.sub('000000000' .. time[1], -10) .. micros
  local record = redis.call('GET', KEYS[2])
  -- Fences are 19 digits; the first 15 of them count tens of microseconds and fit into a number.
  -- Two apart is more than a block of 4096; nearer ones are left to exact arithmetic.
  if not record or tonumber(string.sub(now, 1, 15)) - tonumber(string.sub(record, 1, 15)) >= 2 then
    local fence = now .. '000'
    -- The fence first: if the server is out of memory, nobody holds a name without one.
    redis.call('SET', KEYS[2], fence .. ' ' .. now .. ' ' .. ARGV[4] .. ' 0 ' .. ARGV[5],
               'EX', 86400)
    redis.call('SET', KEYS[1], ARGV[1] .. ':' .. fence, 'NX', 'PX', ARGV[2])
    return fence
  end
end
