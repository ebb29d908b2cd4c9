-- look: what stands at a name, for people: only read. Who would go in next is worked out by the
-- client (lock_view.cpp).
--
-- KEYS: as for ask. {now in us, the name's value, its PTTL, fence record, {owner, insider...},
-- {waiter, ticket...}, {the fields of `wait`}, {the clients that listen} or 0 if that is not
-- told, rest of the pause in ms, the type of a key that is no string}.
local time = redis.call('TIME')
local name, fence_key = KEYS[1], KEYS[2]
local function beside(kind) return string.sub(fence_key, 1, 16) .. kind .. ':' .. name end
local held = redis.pcall('GET', name)
local strange
if type(held) == 'table' then
  if not string.find(held.err, '^WRONGTYPE') then return held end
  local kind = redis.pcall('TYPE', name)
  strange, held = kind.ok or 'other', ''
end
local line = redis.call('ZRANGE', beside('line'), 0, -1, 'WITHSCORES')
-- Who listens matters only where somebody could go in.
local listening, seen = {}, {}
if not held or held == 'crosslock:shared' or string.find(held, '^:[sp]', 53) then
  for i = 1, #line, 2 do
    local client = string.match(line[i], '^%x+ %S+ %d+ %d+ (%x+) ')
    if client and not seen[client] then
      seen[client] = true
      local count = redis.pcall('PUBSUB', 'NUMSUB', 'crosslock:to:' .. client)
      if count.err then
        listening = 0
        break
      end
      if count[2] > 0 then listening[#listening + 1] = client end
    end
  end
end
return {string.sub('000000000' .. time[1], -10) .. string.sub('00000' .. time[2], -6), held or '',
        redis.call('PTTL', name), redis.call('GET', fence_key) or '',
        redis.call('HGETALL', beside('in')), line, redis.call('HGETALL', beside('wait')), listening,
        KEYS[3] and redis.call('PTTL', KEYS[3]) or 0, strange}
