-- Precedes scripts that send receipts to services that named a stream in reply_to.

-- send_receipts appends a firing to the stream of ends for every push of an id in the hash of reply_to.
-- Its name ends with the stream of the service and the entry of the push.
local function send_receipts(replies, finished, id, middle)
  for push in string.gmatch(text('HGET', replies, id) or '', '%S+') do
    redis.call('XADD', finished, '*', 'name', '@finished/' .. id .. '/' .. middle .. '/' .. push, 'due', int(now()), 'late', '0')
  end
end
