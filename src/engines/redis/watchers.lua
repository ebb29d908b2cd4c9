-- Who watches a cell is told once of its next change. KEYS: the cell. The other key lies in the
-- same slot; it is a sorted set, client -> until when in ms, and ends with the last of them.
local cell_name = string.sub(KEYS[1], 22)
local watch_key = string.sub(KEYS[1], 1, 16) .. 'watch:' .. cell_name
local function tell_watchers()
  local clients = redis.call('ZRANGE', watch_key, 0, -1)
  if #clients == 0 then return end
  redis.call('DEL', watch_key)
  for _, client in ipairs(clients) do
    -- Without the right to publish nobody hears anything.
    redis.pcall('PUBLISH', 'crosslock:to:' .. client, 'cell ' .. cell_name)
  end
end
