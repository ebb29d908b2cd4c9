-- look: what a person wants to see: {now in us, the name's value, its PTTL, fence record, {owner,
-- insider...}, {ticket, waiter...}, the type of a key that is no string}. Serves the line first, as
-- every script does.
serve('', 0)
local inside, line = {}, {}
for owner, _ in pairs(insiders()) do
  inside[#inside + 1] = owner
  inside[#inside + 1] = redis.call('HGET', in_key, owner)
end
local all = redis.call('ZRANGE', line_key, 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  if read_waiter(all[i], all[i + 1]).ends > now then
    line[#line + 1] = all[i + 1]
    line[#line + 1] = all[i]
  end
end
return {now_us, not strange and held or '', redis.call('PTTL', name),
        redis.call('GET', fence_key) or '', inside, line, strange}
