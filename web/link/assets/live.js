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

function open () {
  const stream = new EventSource(main.dataset.live)
  stream.onmessage = e => show(e.data)
  stream.addEventListener('end', () => end())
  stream.onerror = () => { // refused: too many pages are open, or the link has expired
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 10000)
  }
  return stream
}

localize(document)
const end = main.dataset.live ? follow(open) : null
