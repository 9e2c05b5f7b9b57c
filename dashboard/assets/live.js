// Keeps a page up to date: when the server sends a new sample number, this script fetches the page and
// replaces its parts with data-live. It does not replace a part in use: one with the focus, a selection
// or a form with changed fields. While updates are paused, it replaces nothing.
'use strict'

const button = document.getElementById('pause')
let paused = false
let busy = false
let again = false

// edited tells whether a field of a form differs from its initial value.
function edited (form) {
  return [...form.elements].some(field =>
    field.checked !== field.defaultChecked || field.selectedIndex > 0 ||
    (field.defaultValue !== undefined && field.value !== field.defaultValue))
}

function used (part) {
  const selection = document.getSelection()
  return [...part.querySelectorAll('form')].some(edited) || part.contains(document.activeElement) ||
    (selection && !selection.isCollapsed && part.contains(selection.anchorNode))
}

// warn shows why the page is not up to date, until the next successful update.
function warn (text) {
  const notice = document.createElement('p')
  notice.className = 'bad notice'
  notice.textContent = 'This page is not up to date: ' + text
  document.getElementById('trouble').replaceChildren(notice)
}

async function update () {
  if (paused || document.hidden || !document.querySelector('main [data-live]:not(#trouble)')) return
  if (busy) {
    again = true
    return
  }
  busy = true
  try {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (!answer.ok) {
      warn(next.querySelector('main')?.innerText.trim() || answer.statusText)
      return
    }
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
    warn('The server does not answer.')
  } finally {
    busy = false
    if (again) {
      again = false
      setTimeout(update, 250)
    }
  }
}

// A hidden page closes its stream, because browsers limit the connections to a server.
let stream = null

function listen () {
  if (document.hidden) {
    stream?.close()
    stream = null
  } else if (!stream) {
    stream = new EventSource(document.documentElement.dataset.path + '/live')
    stream.onmessage = update
    stream.onerror = () => warn('The server does not answer.')
  }
}

document.addEventListener('visibilitychange', listen)
addEventListener('pageshow', listen)
addEventListener('pagehide', () => {
  stream?.close()
  stream = null
})
listen()

button.hidden = false
button.addEventListener('click', () => {
  paused = !paused
  button.setAttribute('aria-pressed', String(paused))
  button.textContent = paused ? 'Resume updates' : 'Pause updates'
  update()
})
