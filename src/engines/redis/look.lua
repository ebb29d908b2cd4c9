-- look: what a person wants to see: {now in us, the name's value, its PTTL, fence record, {owner,
-- insider...}, {owner, waiter...}}. Serves the line first, as every script does.
serve('', 0)
local inside, line = {}, {}
for owner, _ in pairs(insiders()) do
  inside[#inside + 1] = owner
  inside[#inside + 1] = redis.call('HGET', in_key, owner)
end
for _, owner in ipairs(redis.call('ZRANGE', line_key, 0, -1)) do
  local text = redis.call('HGET', wait_key, owner)
  if text and read_waiter(text).ends > now then
    line[#line + 1] = owner
    line[#line + 1] = text
  end
end
return {now_us, held or '', redis.call('PTTL', name), redis.call('GET', fence_key) or '', inside,
        line}
