-- watch_cell: reads, and from this moment on the next change is told. ARGV: client, and for how
-- many ms. Answers {version, highest, value}, each false when the cell has none.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', watch_key, 'GT', string.format('%.0f', now + ARGV[2]), ARGV[1])
if redis.call('PTTL', watch_key) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', watch_key, ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'version', 'highest', 'value')
