-- ask, the ways of nearly every call: the name is free and nobody waits; or it is held, others wait
-- already, and we join them. Anything else goes on below. Nothing is defined before this, and every
-- command, argument and string counts: these few lines decide how fast the engine is.
--
-- KEYS: the name and its fence; with foreign=share also its pause. The other side keys lie in the
-- same slot, and are named in line.lua.
-- ARGV: owner, lease in ms, '<client> <who>', wish: 'x', 's', 'p:k:n', 'u' for an upgrade or
-- 'u:<owner>' for one that may stand beside that grant, with a '+' to wait in line, and for how
-- many ms a place in line and an offer last. Numbers that are handed on to commands are kept as
-- strings: to print one takes as long as to carry out a command.
--
-- A reader, or a holder of permits, that is alone stands at the name itself, its wish behind the
-- fence: so it costs no more than an exclusive one. The second to come moves it inside (line.lua).
local time = redis.call('TIME')
local wish
if ARGV[4] == 'x+' or ARGV[4] == 'x' then
  wish = ''
elseif ARGV[4] == 's+' or ARGV[4] == 's' then
  wish = ':s'
else
  local permits, of = string.match(ARGV[4], '^p:(%d+):(%d+)%+?$')
  if permits and permits + 0 >= 1 and permits - of <= 0 then
    wish = ':p:' .. permits .. ':' .. of
  end
end
if wish then
  local now = time[1] .. string.sub('00000' .. time[2], -6)
  if #now == 16 and #KEYS == 2 then
    local fence = now .. '000'
    local held = redis.call('SET', KEYS[1], ARGV[1] .. ':' .. fence .. wish, 'NX', 'GET', 'PX',
                            ARGV[2])
    if not held then
      local old = redis.pcall('SET', KEYS[2], fence .. ' ' .. now .. ' 0 ' .. ARGV[3], 'EX',
                              '86400', 'GET')
      -- Fences are 19 digits; the first 16 are microseconds and fit into a number. Six apart is
      -- more than a block of 4096; nearer ones are left to exact arithmetic.
      if not old or type(old) == 'string' and string.byte(old, 20) == 32 and
         now - (tonumber(string.sub(old, 1, 16)) or now) >= 6 then
        return fence
      end
      redis.call('DEL', KEYS[1])
      if type(old) == 'table' then return old end  -- an error: nobody holds a name without a fence
      redis.call('SET', KEYS[2], old, 'EX', '86400')
    elseif ARGV[4] == 'x+' and string.find(held, ':w', 52, true) == 53 and
           string.sub(held, 1, 32) ~= ARGV[1] and time[2] % 64 > 0 then
      -- One in 64 takes the long way, which looks whether the line is full.
      local line = string.sub(KEYS[2], 1, 16) .. 'line:' .. KEYS[1]
      local member = ARGV[1] .. ' x ' .. ARGV[2] .. ' ' .. ARGV[5] .. ' ' .. ARGV[3]
      if redis.call('ZADD', line, 'NX', now, member) == 1 then
        if redis.call('PTTL', line) < ARGV[5] + 250 then
          redis.call('PEXPIRE', line, ARGV[5] + 500)
        end
        return {2, now, math.floor(ARGV[5] / 3)}
      end
    end
  end
end
