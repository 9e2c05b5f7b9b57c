// Keeps a stream of server-sent events open while its page is visible, because browsers limit the
// connections to a server.
'use strict'

// follow opens a stream with open(), which returns an EventSource. While stays() is true, it stays open although the page
// is hidden. It returns a function that ends it for good.
function follow (open, stays = () => false) {
  let stream = null
  let ended = false

  function close () {
    stream?.close()
    stream = null
  }

  function listen () {
    if (ended || (document.hidden && !stays())) close()
    else stream ??= open()
  }

  document.addEventListener('visibilitychange', listen)
  addEventListener('pageshow', listen)
  addEventListener('pagehide', close)
  listen()
  return () => {
    ended = true
    close()
  }
}
