-- ask: granted, in line, or busy. An ask of somebody in line refreshes the place; of somebody who
-- has been let in meanwhile it renews.
local owner, lease, waits, client, who = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4], ARGV[5]
local mode, permits, of = string.match(ARGV[6], '^(%a) ?(%d*) ?(%d*)$')
local wish = {mode = mode, permits = tonumber(permits) or 1, of = tonumber(of) or 1}
local exhausted = redis.error_reply('CROSSLOCK fence_exhausted')

local function granted(fence)
  return {1, fence, redis.call('EXISTS', wait_key)}
end

local function take(known)
  if known.mode ~= wish.mode or known.permits ~= wish.permits or known.of ~= wish.of then
    return redis.error_reply('CROSSLOCK another_mode')
  end
  return nil
end

-- Those who are heard of stand before a newcomer, let in or not.
local function everybody_before()
  local before = those_inside()
  if wish.mode ~= 'p' and (before.exclusive or wish.mode == 'x' and before.anybody) then
    return before
  end
  local from = 0
  while not (before.exclusive and before.of) do
    local some = redis.call('ZRANGE', line_key, from, from + 63)
    if #some == 0 then break end
    from = from + #some
    for _, other in ipairs(some) do
      local text = redis.call('HGET', wait_key, other)
      local w = text and read_waiter(text)
      if w and w.ends > now then
        if w.mode == 'p' then before.of = w.of end
        if not before.exclusive and can_hear(w.client) then add_before(before, w) end
      end
    end
  end
  return before
end

local function next_ticket()
  local ticket = tonumber(now_us)
  local top = redis.call('ZREVRANGE', line_key, 0, 0, 'WITHSCORES')[2]
  if top then ticket = math.max(ticket, tonumber(top) + 1) end
  -- Rises with the fence where the clock was put back.
  local last = record()
  local by_fence = last and tonumber(string.sub(last, 1, 16)) + 1 or 0
  if by_fence < 9e15 then ticket = math.max(ticket, by_fence) end
  return ticket
end

local function drop_ended_places()
  local all = redis.call('HGETALL', wait_key)
  for i = 1, #all, 2 do
    if read_waiter(all[i + 1]).ends <= now then leave_line(all[i]) end
  end
end

local function tell_holders()
  local mine = holder()
  if mine then
    local _, _, to = record()
    if to then tell(to, 'wanted ' .. mine) end
  elseif held == SHARED then
    for inside, one in pairs(insiders()) do tell(one.client, 'wanted ' .. inside) end
  end
end

-- In line: the ticket, and when to look again if no news came. Those behind look later, one after
-- another; a foreign holder tells nobody, so the first in line looks often.
local function in_line(ticket, stays)
  local refresh = math.floor(offer_of(stays) / 3)
  local rest, look = redis.call('PTTL', name), refresh
  local foreign = exclusive() and not holder()
  local pause = pause_left()
  if pause > 0 then rest = pause end
  if foreign or rest < refresh then
    local place = redis.call('ZRANK', line_key, owner)
    if rest >= 0 then look = math.min(look, rest + 1 + place) end
    if foreign and place == 0 then look = math.min(look, 50) end
  end
  return {2, string.format('%.0f', ticket), look}
end

if wish.permits < 1 or wish.permits > wish.of then
  return redis.error_reply('CROSSLOCK permits')
end

local text = redis.call('HGET', wait_key, owner)
local mine = text and read_waiter(text)
if mine and mine.ends <= now then
  leave_line(owner)
  mine = nil
elseif mine and waits then
  mine.ends, mine.client = now + offer_of(mine.lease), client
  write_waiter(owner, mine)
end
if run_key and exclusive() and not holder() then redis.call('DEL', run_key) end
if not serve(owner, lease) then
  if mine then leave_line(owner) end
  return exhausted
end

local holds, fence = holder()
if holds == owner then
  local wrong = take({mode = 'x', permits = 1, of = 1})
  if wrong then return wrong end
  local block, since, _, _, known_as = record()
  redis.call('PEXPIRE', name, lease, 'GT')
  write_record(block or fence, since or now_us, client, '0', known_as or who)
  return granted(fence)
end
local inside = insider(owner)
if inside then
  local wrong = take(inside)
  if wrong then return wrong end
  inside.ends, inside.client, inside.ticket = math.max(inside.ends, now + lease), client, '0'
  write_insider(owner, inside)
  return granted(inside.fence)
end
if mine then
  if not waits then return {0} end
  return in_line(tonumber(redis.call('ZSCORE', line_key, owner)), mine.lease)
end

local before = everybody_before()
if wish.mode == 'p' and before.of and before.of ~= wish.of then
  return redis.error_reply('CROSSLOCK semaphore_of ' .. before.of)
end
if admits(before, wish) and pause_left() == 0 then
  local block = next_block()
  if not block then return exhausted end
  let_in(owner, wish, lease, now_us, client, '0', who, block)
  return granted(block)
end
if not waits then return {0} end

if redis.call('ZCARD', line_key) >= LINE_MAX then drop_ended_places() end
local waiting = redis.call('ZCARD', line_key)
if waiting >= LINE_MAX then return redis.error_reply('CROSSLOCK queue_full ' .. LINE_MAX) end
local known = record()
if known and string.sub('000000000000000000' .. known, -19) > add(FENCE_MAX, 0 - BLOCK) then
  return exhausted
end
local ticket = next_ticket()
redis.call('ZADD', line_key, ticket, owner)
write_waiter(owner, {mode = wish.mode, permits = wish.permits, of = wish.of, lease = lease,
             ends = now + offer_of(lease), since = now_us, client = client, who = who})
if waiting == 0 then tell_holders() end
return in_line(ticket, lease)
