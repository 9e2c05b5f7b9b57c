// Keeps a page up to date: when the server says that there is something new, the page is fetched
// again, and its parts with data-live are replaced. A part that somebody uses stays as it is: one
// with the focus, a selection, or while updates are paused.
'use strict'

const button = document.getElementById('pause')
let paused = false
let busy = false
let again = false

function used (part) {
  const selection = document.getSelection()
  return part.contains(document.activeElement) ||
    (selection && !selection.isCollapsed && part.contains(selection.anchorNode))
}

async function update () {
  if (paused || document.hidden) return
  if (busy) {
    again = true
    return
  }
  busy = true
  try {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
    for (const part of document.querySelectorAll('[data-live]')) {
      const fresh = next.getElementById(part.id)
      if (!fresh || used(part) || part.isEqualNode(fresh)) continue
      for (const open of part.querySelectorAll('details[open]')) {
        const same = fresh.querySelector('#' + CSS.escape(open.id))
        if (same) same.open = true
      }
      part.replaceWith(document.adoptNode(fresh))
    }
  } catch {
    // The server is away: the stream below connects again by itself.
  } finally {
    busy = false
    if (again) {
      again = false
      setTimeout(update, 250)
    }
  }
}

const stream = new EventSource('/live')
stream.onmessage = update
document.addEventListener('visibilitychange', update)
addEventListener('pagehide', () => stream.close())

button.hidden = false
button.addEventListener('click', () => {
  paused = !paused
  button.setAttribute('aria-pressed', String(paused))
  button.textContent = paused ? 'Resume updates' : 'Pause updates'
  update()
})
