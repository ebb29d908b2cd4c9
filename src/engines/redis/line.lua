-- What all scripts share: who holds the name, who stands in line, and who goes in next. It restates
-- src/line_rules/line_rule.hpp and follows the memory engine's server, which is the specification.
--
-- The name's own key, as other lock libraries know it:
--   <owner>:<fence>     one exclusive holder of ours      (rest of its lease: PTTL)
--   <owner>:<fence>:w   the same, and somebody waits; ':f' when the line is full
--   <owner>:<fence>:s   one shared holder, nobody else and nobody waiting; ':p:k:n' one of permits
--   crosslock:shared    shared or permit holders, listed in `in`; perhaps with one exclusive
--                       holder among them, an upgrade beside the shared grant of the same client
--   anything else       a foreign lock: an exclusive holder that never hears of us; so is a key of
--                       another type
-- fence: <last block><' ', or 'w': somebody may wait><since> <untaken offer, or 0> <client> <who>
-- line:  <owner> <demand> <lease> <offer> <client> <who> -> ticket: since when, in us
-- wait:  owner -> when the place ends, and '.5' if its client polls, because no push reaches it: a
--        number all the same, for versions that know nothing of that; only of those who have
--        refreshed theirs
--        u<owner> -> of an upgrade: the owner of the shared grant that is not in its way
-- in:    owner -> <demand> <end> <since> <client> <fence> <last block> <ticket> <who>
-- names: one for the whole server: fence key -> when its name was last seen in use, in us
-- Times are the server's: `since` in us, the others in ms. A demand: 'x' exclusive, 's' shared,
-- 'p:2:5' two of five permits; in the line also 'u', an upgrade, which is exclusive.
local name, fence_key = KEYS[1], KEYS[2]
local function beside(kind) return string.sub(fence_key, 1, 16) .. kind .. ':' .. name end
local line_key, wait_key, in_key = beside('line'), beside('wait'), beside('in')
local pause_key, run_key = KEYS[3], KEYS[3] and beside('run')
local SHARED = 'crosslock:shared'
local DAY = 86400
local LINE_MAX = 8192
local FENCE_MAX = '9223372036854775807'
local BLOCK = 4096
local PAUSE, RUN = 300, 1000
local NAMES = 'crosslock:{names}'
local HOUR = 3600000000
local now_us = string.sub('000000000' .. time[1], -10) .. string.sub('00000' .. time[2], -6)
local now = tonumber(string.sub(now_us, 1, 13))
local held = redis.pcall('GET', name)
local strange  -- what kind of key stands there, if it is no string
if type(held) == 'table' then
  if not string.find(held.err, '^WRONGTYPE') then return held end
  local kind = redis.pcall('TYPE', name)
  strange = kind.ok or 'other'
  held = '?' .. strange
end
local last_block, block_before

local function exclusive() return held and held ~= SHARED end

-- Owner and fence of an exclusive holder of ours; nothing for a foreign one.
local function holder()
  local owner, fence = string.match(held or '', '^(%x+):(%d+)')
  if owner and #owner == 32 then return owner, fence end
end

-- Last block, since, ticket, client, who.
local function record()
  return string.match(redis.call('GET', fence_key) or '', '^(%d+)[ w](%d+) (%d+) (%x+) (.*)$')
end

local function pad(fence) return string.sub('000000000000000000' .. fence, -19) end

-- Sums of 19 digits, exactly: a number of Lua has only 53 bits.
local function add(fence, more)
  local high, low = tonumber(string.sub(fence, 1, 10)), tonumber(string.sub(fence, 11, 19)) + more
  if low >= 1e9 then high, low = high + 1, low - 1e9 end
  return string.format('%010d%09d', high, low)
end

-- Whether a fence is one of a grant's own: from its first to the end of its last block. The block
-- of whoever is alone at the name is the one in the record.
local function is_of(fence, first, block)
  if fence <= first then return fence == first end
  block = pad(block or record() or first)
  return fence <= add(block > first and block or first, BLOCK - 1)
end

-- max(last block + 4096, time): by the counter while there is one, by the clock when it was lost.
-- False at the end of all fences.
local function next_block()
  if not last_block then
    local known = record()
    last_block = known and pad(known) or ''
    block_before = last_block
  end
  local fence = now_us .. '000'
  if last_block ~= '' then
    local least = add(last_block, BLOCK)
    if least > FENCE_MAX then return false end
    if least > fence then fence = least end
  end
  last_block = fence
  return fence
end

local somebody_waits

local function write_record(fence, since, ticket, client, who)
  redis.call('SET', fence_key, pad(fence) .. (somebody_waits() and 'w' or ' ') .. since .. ' ' ..
             ticket .. ' ' .. client .. ' ' .. who, 'EX', DAY)
end

-- Only what has been done is told. Without the right to publish nobody hears anything.
local function tell(client, words)
  redis.pcall('PUBLISH', 'crosslock:to:' .. client, words .. ' ' .. name)
end

-- Whether that client's own subscription is on this very server. PUBLISH would not tell: it counts
-- those who listen to patterns, and reaches replicas, where nobody counts. Nil without the right.
local function can_hear(client)
  local listening = redis.pcall('PUBSUB', 'NUMSUB', 'crosslock:to:' .. client)
  if listening.err then return nil end
  return listening[2] > 0
end

-- A key that has no expiry yet has none to compare with: GT would leave it so.
local function live_on(key, ms)
  if redis.call('PTTL', key) < 0 then
    redis.call('PEXPIRE', key, ms)
  else
    redis.call('PEXPIRE', key, ms, 'GT')
  end
end

local function read_demand(word)
  local mode, permits, of = string.match(word, '^(%a):?(%d*):?(%d*)$')
  return mode == 'u' and 'x' or mode, tonumber(permits) or 1, tonumber(of) or 1
end

local function read_waiter(member, ticket)
  local owner, demand, offer, client, who =
    string.match(member, '^(%x+) (%S+) %d+ (%d+) (%x+) (.*)$')
  local w = {owner = owner, member = member, demand = demand, offer = tonumber(offer),
             client = client, who = who, ticket = tonumber(ticket)}
  w.mode, w.permits, w.of = read_demand(demand)
  w.refreshed = redis.call('HGET', wait_key, owner)
  if demand == 'u' then w.beside = redis.call('HGET', wait_key, 'u' .. owner) end
  w.polls = w.refreshed and string.sub(w.refreshed, -2) == '.5'
  -- A ticket lies in the future when the clock was put back since.
  w.ends = tonumber(w.refreshed) or math.min(math.floor(w.ticket / 1000), now) + w.offer
  return w
end

local function leave_line(w)
  redis.call('ZREM', line_key, w.member)
  if w.refreshed then redis.call('HDEL', wait_key, w.owner) end
  if w.demand == 'u' then redis.call('HDEL', wait_key, 'u' .. w.owner) end
end

-- Somebody who lives: places that have ended go, up to the first that has not.
function somebody_waits()
  while true do
    local head = redis.call('ZRANGE', line_key, 0, 0, 'WITHSCORES')
    if not head[1] then return false end
    local first = read_waiter(head[1], head[2])
    if first.ends > now then return true end
    leave_line(first)
  end
end

local function read_insider(text)
  local demand, ends, since, client, fence, block, ticket, who =
    string.match(text, '^(%S+) (%d+) (%d+) (%x+) (%d+) (%d+) (%d+) (.*)$')
  local h = {demand = demand, ends = tonumber(ends), since = since, client = client, fence = fence,
             block = block, ticket = ticket, who = who}
  h.mode, h.permits, h.of = read_demand(demand)
  return h
end

-- The name stays taken until the last of those inside has gone.
local function write_insider(owner, h)
  redis.call('HSET', in_key, owner, h.demand .. ' ' .. string.format('%.0f', h.ends) .. ' ' ..
             h.since .. ' ' .. h.client .. ' ' .. h.fence .. ' ' .. h.block .. ' ' .. h.ticket ..
             ' ' .. h.who)
  local rest = math.max(1, h.ends - now)
  if held == SHARED then
    redis.call('PEXPIRE', name, rest, 'GT')
  else
    redis.call('SET', name, SHARED, 'PX', rest)
    held = SHARED
  end
  live_on(in_key, rest)
end

-- Whoever is alone at the name goes inside, because somebody has come.
do
  local owner, fence, demand = string.match(held or '', '^(%x+):(%d+):([sp].*)$')
  if owner and #owner == 32 then
    local block, since, _, client, who = record()
    if block ~= fence then since, client, who = now_us, '0', '?' end
    redis.call('DEL', in_key)
    write_insider(owner, {demand = demand, ends = now + redis.call('PTTL', name), since = since,
                  client = client, fence = fence, block = fence, ticket = '0', who = who})
  end
end

local function free_name()
  redis.call('DEL', name)
  held = false
end

-- Everybody inside, by owner. Drops those whose lease has ended.
local function insiders()
  local found = {}
  if held ~= SHARED then
    if not held then redis.call('DEL', in_key) end
    return found
  end
  local all = redis.call('HGETALL', in_key)
  for i = 1, #all, 2 do
    local one = read_insider(all[i + 1])
    if one.ends > now then
      found[all[i]] = one
    else
      redis.call('HDEL', in_key, all[i])
    end
  end
  if next(found) == nil then free_name() end
  return found
end

local function insider(owner)
  if held ~= SHARED then return end
  local text = redis.call('HGET', in_key, owner)
  local one = text and read_insider(text)
  if one and one.ends > now then return one end
end

-- The line rule: who stands before somebody, and whether that lets him in. An upgrade may stand
-- beside one shared grant.
local function admits(before, demand)
  if demand.mode == 'x' then
    return before.count == (demand.beside and before.shared[demand.beside] and 1 or 0)
  end
  if before.exclusive then return false end
  return demand.mode == 's' or before.permits + demand.permits <= demand.of
end

local function note_kind(before, demand)
  if demand.mode == 'p' then before.of = demand.of else before.locked = true end
end

local function add_before(before, demand)
  before.count = before.count + 1
  if demand.mode == 'x' then before.exclusive = true end
  if demand.mode == 'p' then before.permits = before.permits + demand.permits end
  note_kind(before, demand)
end

local function those_inside()
  local before = {count = exclusive() and 1 or 0, exclusive = exclusive(), permits = 0, shared = {},
                  locked = exclusive()}
  for owner, one in pairs(insiders()) do
    add_before(before, one)
    before.shared[owner] = one.mode == 's'
  end
  return before
end

-- foreign=share: after a run of our holders the name is left alone for a while, so that libraries
-- which only poll find it free.
local function begin_run()
  if not run_key then return end
  redis.call('SET', run_key, now, 'NX')
  redis.call('PEXPIRE', run_key, 3600000)
end

local function pause_left()
  return run_key and math.max(0, redis.call('PTTL', pause_key)) or 0
end

-- At the end of a hold. True when the name is now left to others.
local function end_of_hold()
  if not run_key then return false end
  local began = redis.call('GET', run_key)
  if not began or now - tonumber(began) < RUN then
    redis.call('PEXPIRE', run_key, PAUSE)
    return false
  end
  redis.call('DEL', run_key)
  redis.call('SET', pause_key, '1', 'PX', PAUSE)
  local head = redis.call('ZRANGE', line_key, 0, 0, 'WITHSCORES')
  local first = head[1] and read_waiter(head[1], head[2])
  if first then tell(first.client, 'look ' .. first.owner) end
  return true
end

-- What stands behind the fence of a holder: whether somebody waits, and whether no more may come. A
-- full line is not joined the quick way.
local function mark()
  if not somebody_waits() then return '' end
  return redis.call('ZCARD', line_key) < LINE_MAX and ':w' or ':f'
end

-- An upgrade whose shared grant has gone is a plain exclusive holder from then on.
local function remove_insider(owner)
  redis.call('HDEL', in_key, owner)
  local left = redis.call('HLEN', in_key)
  if left == 0 then free_name() end
  if left ~= 1 then return end
  local last, one = next(insiders())
  if not last or one.mode ~= 'x' then return end
  held = last .. ':' .. one.fence .. mark()
  redis.call('SET', name, held, 'PX', one.ends - now)
  redis.call('DEL', in_key)
  write_record(record() or one.block, one.since, one.ticket, one.client, one.who)
end

-- Which names are in use: noted once an hour for each, so that nobody has to scan all keys. The
-- oldest entries are looked at on that occasion: names that nobody has used for a day go.
local function note_name()
  local noted = redis.pcall('ZADD', NAMES, now_us, fence_key)
  if type(noted) == 'table' then return end  -- it is for people: no lock fails for it
  redis.pcall('EXPIRE', NAMES, 3 * DAY)
  local oldest = redis.pcall('ZRANGE', NAMES, 0, 63, 'WITHSCORES')
  for i = 1, #oldest, 2 do
    if now_us - oldest[i + 1] < 25 * HOUR then return end
    -- Whoever must not look at a name leaves it to those who may.
    local there = redis.pcall('EXISTS', oldest[i])
    if there == 1 then
      redis.pcall('ZADD', NAMES, now_us, oldest[i])
    elseif there == 0 then
      redis.pcall('ZREM', NAMES, oldest[i])
    end
  end
end

local function hour_of(us) return math.floor(us / HOUR) end

-- Whoever is let in has left the line before.
local function let_in(owner, demand, lease, client, ticket, who, fence)
  if block_before == '' or
     hour_of(string.sub(block_before or fence, 1, 16)) ~= hour_of(now_us) then
    note_name()
    block_before = fence
  end
  if demand.mode == 'x' and held ~= SHARED then
    write_record(fence, now_us, ticket, client, who)
    held = owner .. ':' .. fence .. mark()
    redis.call('SET', name, held, 'PX', lease)
  else
    write_record(fence, now_us, '0', client, who)
    write_insider(owner, {demand = demand.mode == 'x' and 'x' or demand.demand, ends = now + lease,
                  since = now_us, client = client, fence = fence, block = fence, ticket = ticket,
                  who = who})
  end
  begin_run()
end

-- Hands the name to whoever may go in. The one who asks hears the reply, and gets the whole lease;
-- others get an offer, and are told of it once everybody is in. Whoever polls finds it by the next
-- look. A waiter that nobody can reach keeps its place, but is passed over for now; where the
-- server does not say who listens, waiters are told to look for themselves. False when there are
-- no fences left.
local function let_waiters_in(asking, lease, news)
  local before = those_inside()
  local from = 0
  while not before.exclusive do
    local some = redis.call('ZRANGE', line_key, from, from + 15, 'WITHSCORES')
    if #some == 0 then break end
    for i = 1, #some, 2 do
      local w = read_waiter(some[i], some[i + 1])
      if w.ends <= now then
        leave_line(w)
      else
        local asks = w.owner == asking
        local hears = not asks and can_hear(w.client)
        local reached = asks or hears or w.polls
        if not admits(before, w) then
          from = from + 1
          if reached or hears == nil then add_before(before, w) end
        elseif reached then
          local fence = next_block()
          if not fence then return false end
          local ticket, stays = '0', lease
          if not asks then ticket, stays = string.format('%.0f', w.ticket), w.offer end
          leave_line(w)
          let_in(w.owner, w, stays, w.client, ticket, w.who, fence)
          add_before(before, w)
          if hears then
            news[#news + 1] = {w.client, 'granted ' .. w.owner .. ' ' .. ticket .. ' ' .. fence ..
                                         ' ' .. stays}
          end
        else
          from = from + 1
          if hears == nil then
            tell(w.client, 'look ' .. w.owner)
            add_before(before, w)
          end
        end
      end
      if before.exclusive then break end
    end
  end
  return true
end

local function serve(asking, lease)
  if exclusive() or redis.call('EXISTS', line_key) == 0 or pause_left() > 0 then return true end
  local news = {}
  local fences_left = let_waiters_in(asking, lease, news)
  local wanted = #news > 0 and (somebody_waits() and ' 1' or ' 0')
  for _, one in ipairs(news) do tell(one[1], one[2] .. wanted) end
  return fences_left
end
