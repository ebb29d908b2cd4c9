-- ask, the ways of nearly every call: the name is free and nobody waits; or it is held, others wait
-- already, and we join them. Anything else goes on below. Nothing is defined before this, and every
-- command, argument and string counts: these few lines decide how fast the engine is.
--
-- KEYS: the name and its fence; with foreign=share also its pause. The other side keys lie in the
-- same slot, and are named in line.lua.
-- ARGV: owner, lease in ms, '<client> <who>', demand: 'x', 's', 'p:k:n', 'u' for an upgrade or
-- 'u:<owner>' for one that may stand beside that grant, with a '+' to wait in line, or a '*' to
-- wait and poll; and for how many ms a place in line and an offer last. Numbers that are handed on
-- to commands are kept as strings: to print one takes as long as to carry out a command.
--
-- A reader, or a holder of permits, that is alone stands at the name itself, its demand behind the
-- fence: so it costs no more than an exclusive one. The second to come moves it inside (line.lua).
local time = redis.call('TIME')
local demand
if ARGV[4] == 'x+' or ARGV[4] == 'x' or ARGV[4] == 'x*' then
  demand = ''
elseif ARGV[4] == 's+' or ARGV[4] == 's' or ARGV[4] == 's*' then
  demand = ':s'
else
  local permits, of = string.match(ARGV[4], '^p:(%d+):(%d+)[+*]?$')
  if permits and permits + 0 >= 1 and permits - of <= 0 then
    demand = ':p:' .. permits .. ':' .. of
  end
end
if demand then
  local now = time[1] .. string.sub('00000' .. time[2], -6)
  if #now == 16 and #KEYS == 2 then
    local fence = now .. '000'
    local held = redis.pcall('SET', KEYS[1], ARGV[1] .. ':' .. fence .. demand, 'NX', 'GET', 'PX',
                             ARGV[2])
    if type(held) == 'table' then
      -- A key of another type belongs to somebody else: that is looked at below.
      if not string.find(held.err, '^WRONGTYPE') then return held end
    elseif not held then
      local old = redis.pcall('SET', KEYS[2], fence .. ' ' .. now .. ' 0 ' .. ARGV[3], 'EX',
                              '86400', 'GET')
      -- Fences are 19 digits; the first 16 are microseconds and fit into a number. Six apart is
      -- more than a block of 4096; nearer ones are left to exact arithmetic.
      if not old and time[2] % 16 > 0 then
        -- A name is noted as in use when it is new, and the first time in an hour (line.lua). One
        -- in 16 takes the long way, which also clears up among the old ones.
        if type(redis.pcall('ZADD', 'crosslock:{names}', now, KEYS[2])) == 'number' then
          redis.pcall('EXPIRE', 'crosslock:{names}', '259200')
        end
        return fence
      end
      local before = type(old) == 'string' and string.byte(old, 20) == 32 and
                     tonumber(string.sub(old, 1, 16))
      if before and now - before >= 6 and now - now % 3600000000 <= before then return fence end
      redis.call('DEL', KEYS[1])
      if type(old) == 'table' then return old end  -- an error: nobody holds a name without a fence
      if old then
        redis.call('SET', KEYS[2], old, 'EX', '86400')
      else
        redis.call('DEL', KEYS[2])
      end
    elseif ARGV[4] == 'x+' and string.find(held, ':w', 52, true) == 53 and
           string.sub(held, 1, 32) ~= ARGV[1] and time[2] % 64 > 0 then
      -- One in 64 takes the long way, which looks whether the line is full.
      local line = string.sub(KEYS[2], 1, 16) .. 'line:' .. KEYS[1]
      local member = ARGV[1] .. ' x ' .. ARGV[2] .. ' ' .. ARGV[5] .. ' ' .. ARGV[3]
      -- Behind everybody, also where the clock was put back since the last one came.
      local last = redis.call('ZREVRANGE', line, 0, 0, 'WITHSCORES')[2]
      if (not last or last - now < 0) and redis.call('ZADD', line, 'NX', now, member) == 1 then
        if redis.call('PTTL', line) < ARGV[5] + 250 then
          redis.call('PEXPIRE', line, ARGV[5] + 500)
        end
        return {2, now, math.floor(ARGV[5] / 3)}
      end
    end
  end
end
