-- ask: granted, in line, or busy. An ask of somebody in line refreshes the place; of somebody who
-- has been let in meanwhile it renews.
local owner, lease, offer = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[5])
local client, who = string.match(ARGV[3], '^(%x+) (.*)$')
local word, waits = string.match(ARGV[4], '^([^+*]+)([+*]?)$')
local polls = waits == '*'
waits = waits ~= ''
local beside = string.match(word, '^u:(%x+)$')
if beside then word = 'u' end
local demand = {demand = word == 'u' and 'x' or word, beside = beside}
demand.mode, demand.permits, demand.of = read_demand(word)
local member = owner .. ' ' .. word .. ' ' .. ARGV[2] .. ' ' .. ARGV[5] .. ' ' .. ARGV[3]
local exhausted = redis.error_reply('CROSSLOCK fence_exhausted')

local function granted(fence) return {1, fence, somebody_waits() and 1 or 0} end

-- A name is a lock or a semaphore, as long as anybody holds it or waits for it.
local function another_kind(before)
  if demand.mode == 'p' then return before.locked end
  return before.of
end

-- Those who are heard of stand before a newcomer, let in or not.
local function everybody_before()
  local before = those_inside()
  if demand.mode ~= 'p' and not admits(before, demand) then return before end
  local from = 0
  while not before.exclusive and not another_kind(before) do
    local some = redis.call('ZRANGE', line_key, from, from + 63, 'WITHSCORES')
    if #some == 0 then break end
    from = from + #some / 2
    for i = 1, #some, 2 do
      local w = read_waiter(some[i], some[i + 1])
      if w.ends > now then
        note_kind(before, w)
        if not before.exclusive and (w.polls or can_hear(w.client) ~= false) then
          add_before(before, w)
        end
      end
    end
  end
  return before
end

-- Another exclusive claim was here before the upgrade: two upgrading readers would deadlock. Who
-- cannot be heard just now keeps its place, and counts.
local function upgrade_conflicts()
  if those_inside().exclusive then return true end
  local from = 0
  while true do
    local some = redis.call('ZRANGE', line_key, from, from + 63, 'WITHSCORES')
    if #some == 0 then return false end
    from = from + #some / 2
    for i = 1, #some, 2 do
      local w = read_waiter(some[i], some[i + 1])
      if w.mode == 'x' and w.ends > now then return true end
    end
  end
end

-- What an upgrade in line may stand beside, as its last ask says.
local function note_beside()
  if beside then
    redis.call('HSET', wait_key, 'u' .. owner, beside)
    live_on(wait_key, offer + 500)
  else
    redis.call('HDEL', wait_key, 'u' .. owner)
  end
end

-- In the order of entry, and rising with the fence where the clock was put back.
local function next_ticket()
  local ticket = tonumber(now_us)
  local top = redis.call('ZREVRANGE', line_key, 0, 0, 'WITHSCORES')[2]
  if top then ticket = math.max(ticket, tonumber(top) + 1) end
  local last = record()
  local by_fence = last and tonumber(string.sub(pad(last), 1, 16)) + 1 or 0
  if by_fence < 9e15 then ticket = math.max(ticket, by_fence) end
  return ticket
end

-- Says when a place ends from now on, and whether news reach its client.
local function refresh()
  redis.call('HSET', wait_key, owner, string.format('%.0f', now + offer) .. (polls and '.5' or ''))
  live_on(line_key, offer + 500)
  live_on(wait_key, offer + 500)
end

local function drop_ended_places()
  local all = redis.call('ZRANGE', line_key, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do
    local w = read_waiter(all[i], all[i + 1])
    if w.ends <= now then leave_line(w) end
  end
end

-- The next release must know without looking into the line, and the holder at once.
local function mark_wanted()
  if redis.call('EXISTS', fence_key) == 1 then
    redis.call('SETRANGE', fence_key, 19, 'w')
  else
    write_record('0', now_us, '0', '0', '?')
    note_name()  -- nobody of ours was here before: a foreign holder has the name
  end
  local mine, fence = holder()
  if mine then
    local bare = mine .. ':' .. fence
    local before = held
    held = bare .. mark()
    if held ~= before then redis.call('SET', name, held, 'KEEPTTL') end
    local _, _, _, to = record()
    if to and before == bare then tell(to, 'wanted ' .. mine) end
  elseif held == SHARED and redis.call('ZCARD', line_key) == 1 then
    for inside, one in pairs(insiders()) do tell(one.client, 'wanted ' .. inside) end
  end
end

-- In line: the ticket, when to look again if no news came, what kind of key is in the way if it is no
-- string, and, for the first in line, whose lock it is if it is not ours. Those behind look later,
-- one after another; a foreign holder tells nobody, so the first in line looks often, and its
-- client knows how often (foreign_turns.hpp).
local function in_line(ticket)
  local refresh = math.floor(offer / 3)
  local rest, look = redis.call('PTTL', name), refresh
  local foreign = exclusive() and not holder()
  local whose
  local pause = pause_left()
  if pause > 0 then rest = pause end
  if foreign or rest < refresh then
    local place = redis.call('ZRANK', line_key, member) or 0
    if rest >= 0 then look = math.min(look, rest + 1 + place) end
    if foreign and place == 0 then whose = string.sub(held, 1, 64) end
  end
  return {2, string.format('%.0f', ticket), look, strange or '', whose}
end

if demand.permits < 1 or demand.permits > demand.of then
  return redis.error_reply('CROSSLOCK permits')
end

local ticket = redis.call('ZSCORE', line_key, member)
local mine = ticket and read_waiter(member, ticket)
if mine and mine.ends <= now then
  leave_line(mine)
  mine = nil
elseif mine and waits then
  -- Sooner than that the place still has most of its time. A clock that was put back tells nothing.
  local stood = now - math.floor(mine.ticket / 1000)
  if stood < 0 or stood >= offer / 4 or polls ~= (mine.polls or false) then
    refresh()
    mine.refreshed = true
  end
end
if mine and waits and word == 'u' then note_beside() end
if run_key and exclusive() and not holder() then redis.call('DEL', run_key) end
if not serve(owner, lease) then
  if mine then leave_line(mine) end
  return exhausted
end

local holds, fence = holder()
if holds == owner then
  if demand.mode ~= 'x' then return redis.error_reply('CROSSLOCK another_mode') end
  local block, since, _, _, known_as = record()
  redis.call('PEXPIRE', name, lease, 'GT')
  write_record(block or fence, since or now_us, '0', client, known_as or who)
  -- Without the mark the next to come is told of again.
  local bare = owner .. ':' .. fence
  if held ~= bare and not somebody_waits() then redis.call('SET', name, bare, 'KEEPTTL') end
  return granted(fence)
end
local inside = insider(owner)
if inside then
  if inside.demand ~= demand.demand then return redis.error_reply('CROSSLOCK another_mode') end
  inside.ends, inside.client, inside.ticket = math.max(inside.ends, now + lease), client, '0'
  write_insider(owner, inside)
  return granted(inside.fence)
end
if mine then
  if not waits then return {0, strange} end
  -- He may have come when the name said that somebody waits and the record did not, or either was
  -- lost since.
  local flag = string.sub(redis.call('GET', fence_key) or '', 20, 20)
  if flag ~= 'w' or holds and held == holds .. ':' .. fence then
    mark_wanted()
  end
  return in_line(mine.ticket)
end

if word == 'u' and upgrade_conflicts() then
  return redis.error_reply('CROSSLOCK upgrade_conflict')
end
local before = everybody_before()
if another_kind(before) then
  return redis.error_reply('CROSSLOCK another_kind ' .. (before.of and 'semaphore' or 'lock'))
end
if demand.mode == 'p' and before.of and before.of ~= demand.of then
  return redis.error_reply('CROSSLOCK semaphore_of ' .. before.of .. ' ' .. demand.of)
end
if admits(before, demand) and pause_left() == 0 then
  local block = next_block()
  if not block then return exhausted end
  let_in(owner, demand, lease, client, '0', who, block)
  return granted(block)
end
if not waits then return {0, strange} end

if redis.call('ZCARD', line_key) >= LINE_MAX then drop_ended_places() end
if redis.call('ZCARD', line_key) >= LINE_MAX then
  mark_wanted()
  return redis.error_reply('CROSSLOCK queue_full ' .. LINE_MAX)
end
local known = record()
if known and pad(known) > add(FENCE_MAX, 0 - BLOCK) then return exhausted end
ticket = next_ticket()
somebody_waits()  -- those whose places have ended are not counted
redis.call('ZADD', line_key, ticket, member)
live_on(line_key, offer + 500)
-- A ticket in the future, where the clock was put back, says nothing about when the place ends.
if polls or math.floor(ticket / 1000) > now then refresh() end
if beside then note_beside() end
mark_wanted()
return in_line(ticket)
