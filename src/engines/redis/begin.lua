-- For scripts that have no quick way.
local time = redis.call('TIME')
