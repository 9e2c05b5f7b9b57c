// Keeps the page up to date: the server sends its main part after every change, and this script replaces
// the parts that differ, and shows times in the time zone of the person. A part with the focus or a selection stays as it is until the next message.
'use strict'

const main = document.querySelector('main')

const named = document.title.split(' · ').slice(1)
const clock = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'long', timeStyle: 'short' })

function localize (root) {
  for (const time of root.querySelectorAll('time')) time.textContent = clock.format(new Date(time.dateTime))
}

function used (part) {
  const selection = document.getSelection()
  return part.contains(document.activeElement) ||
    (selection && !selection.isCollapsed && part.contains(selection.anchorNode))
}

function show (text) {
  const next = new DOMParser().parseFromString(text, 'text/html')
  localize(next)
  for (const part of main.children) {
    const fresh = next.getElementById(part.id)
    if (!fresh || used(part) || part.isEqualNode(fresh)) continue
    part.replaceChildren(...fresh.childNodes)
  }
  document.title = [main.querySelector('h1').textContent, ...named].join(' · ')
}

let wanted = false // a notice by the browser at the end

// offerNotice adds a button for it. Pages in frames of other pages may not ask for the permission.
function offerNotice () {
  if (!main.dataset.notice || !('Notification' in window) || !isSecureContext || top !== window) return
  const button = document.createElement('button')
  button.className = 'notice'
  button.textContent = main.dataset.notice
  button.setAttribute('aria-pressed', 'false')
  button.onclick = async () => {
    wanted = !wanted && await Notification.requestPermission() === 'granted'
    button.setAttribute('aria-pressed', wanted)
  }
  main.querySelector('#cancel').before(button)
}

function finish () {
  end()
  main.querySelector('button.notice')?.remove()
  if (wanted && document.hidden) new Notification(document.title).onclick = () => window.focus()
}

function open () {
  const stream = new EventSource(main.dataset.live)
  stream.onmessage = e => show(e.data)
  stream.addEventListener('end', finish)
  stream.onerror = () => { // refused: too many pages are open, or the link has expired
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 10000)
  }
  return stream
}

localize(document)
offerNotice()
const end = main.dataset.live ? follow(open, () => wanted) : null
