// Moves the focus to the search with "/", and keeps a page up to date: when the server sends a new sample number, this script fetches the page and
// replaces its parts with data-live. A part with a selection or with changed fields of a form is held: it
// is not replaced, and the page says since when. While updates are paused, nothing is replaced.
'use strict'

const root = document.documentElement
const button = document.getElementById('pause')
const held = document.getElementById('held')
const focusable = 'a[href], button, input, select, textarea, summary, [tabindex]'
const key = 'fanfold-paused' // of the session: a pause lasts over pages
let busy = false
let again = false
let paused = false
const current = new Map() // id of a part → time of its data

function stored () {
  try {
    return sessionStorage.getItem(key) === 'yes'
  } catch {
    return false
  }
}

function store () {
  try {
    sessionStorage.setItem(key, paused ? 'yes' : 'no')
  } catch {} // the pause ends with the page
}

function fresh () {
  return document.querySelector('#fresh time')?.textContent ?? ''
}

// edited tells whether a field of a form differs from its initial value.
function edited (form) {
  return [...form.elements].some(field =>
    (field.checked ?? false) !== (field.defaultChecked ?? false) ||
    (field.options ? [...field.options].some(o => o.selected !== o.defaultSelected) && (field.multiple || field.selectedIndex > 0) : false) ||
    (field.defaultValue !== undefined && field.value !== field.defaultValue))
}

// reason returns why a part is held; empty: it is not.
function reason (part) {
  if ([...part.querySelectorAll('form')].some(edited)) return 'a form on it has changed fields'
  const selection = document.getSelection()
  if (selection && !selection.isCollapsed && part.contains(selection.anchorNode)) return 'a text on it is selected'
  if (part.contains(document.activeElement) && document.activeElement.matches('input, select, textarea')) return 'a field on it is in use'
  return ''
}

// tell shows that updates are paused, or that a part is held, and since when.
function tell (why) {
  const part = [...document.querySelectorAll('main [data-live]')].find(p => current.has(p.id))
  const since = paused || !part ? fresh() : current.get(part.id)
  held.hidden = !why
  if (!why) return
  const text = `Paused since ${since}: ${why}. `
  if (held.firstChild?.textContent !== text) {
    const resume = document.createElement('button')
    resume.type = 'button'
    resume.id = 'resume'
    resume.textContent = 'Resume'
    resume.addEventListener('click', () => {
      document.getSelection()?.removeAllRanges()
      document.activeElement?.blur()
      for (const form of document.querySelectorAll('[data-live] form')) form.reset()
      if (paused) toggle()
      else update()
    })
    held.replaceChildren(text, resume)
  }
}

// replace replaces a part. What is open stays open, and the focus and the scrolled regions stay.
function replace (part, next) {
  for (const open of part.querySelectorAll('details[open]')) {
    const same = open.id && next.querySelector('#' + CSS.escape(open.id))
    if (same) same.open = true
  }
  const scrolled = [...part.querySelectorAll('.scroll')].map(s => [s.scrollLeft, s.scrollTop])
  const active = part.contains(document.activeElement) ? document.activeElement : null
  const place = active ? [...part.querySelectorAll(focusable)].indexOf(active) : -1
  const name = e => e.tagName + (e.id || e.getAttribute('aria-label') || e.getAttribute('href') || e.textContent)
  part.replaceWith(document.adoptNode(next))
  next.querySelectorAll('.scroll').forEach((s, i) => { [s.scrollLeft, s.scrollTop] = scrolled[i] ?? [0, 0] })
  if (!active) return
  const all = [...next.querySelectorAll(focusable)]
  const same = all.filter(e => name(e) === name(active))
  const to = same.includes(all[place]) ? all[place] : same[0] ?? next.querySelector('.scroll')
  to?.focus({ preventScroll: true })
}

// warn shows why the page is not up to date, until the next successful update.
function warn (text) {
  const notice = document.createElement('p')
  notice.className = 'bad notice'
  const since = fresh()
  notice.textContent = `This page is not up to date${since && ' since ' + since}: ${text}`
  document.getElementById('trouble').replaceChildren(notice)
}

// localise writes times in the zone of the browser. The server writes them in UTC.
const forms = {
  time: { hour: '2-digit', minute: '2-digit' },
  date: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  stamp: { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' }
}
for (const name in forms) forms[name] = new Intl.DateTimeFormat(name === 'stamp' ? 'sv' : 'en-GB', { ...forms[name], hourCycle: 'h23' })
function localise (page) {
  for (const e of page.querySelectorAll('[data-at]')) {
    const text = forms[e.dataset.form].format(Number(e.dataset.at)) + (e.dataset.more ?? '')
    if (e.textContent !== text) e.textContent = text
  }
  for (const e of page.querySelectorAll('[data-zone]')) e.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone
}
localise(document)

// Shows the values of the column under the pointer, and marks the same time in every picture.
document.addEventListener('pointerover', event => {
  const column = event.target.closest?.('[data-column]')
  for (const e of document.querySelectorAll('.column.at')) e.classList.remove('at')
  if (!column) return
  for (const e of document.querySelectorAll(`[data-column="${column.dataset.column}"]`)) e.classList.add('at')
  for (const e of document.querySelectorAll('output.values')) e.textContent = column.textContent
})

async function update () {
  if (root.hasAttribute('data-heals')) return heal()
  if (paused || document.hidden || root.hasAttribute('data-static')) return
  if (busy) {
    again = true
    return
  }
  busy = true
  try {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
    if (answer.redirected) return location.reload() // to the login: the session has ended
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (paused) return
    localise(next)
    if (!answer.ok) {
      warn(next.querySelector('main')?.innerText.trim() || answer.statusText)
      return
    }
    const before = fresh()
    let why = ''
    for (const part of document.querySelectorAll('[data-live]')) {
      const update = next.getElementById(part.id)
      if (!update) continue
      const wait = part.isEqualNode(update) ? '' : reason(part)
      if (wait) {
        why = wait
        if (!current.has(part.id)) current.set(part.id, before)
        continue
      }
      current.delete(part.id)
      if (!part.isEqualNode(update)) replace(part, update)
    }
    tell(why)
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

// heal loads a page that could not be shown again, as soon as it can be.
async function heal () {
  if (busy || document.hidden) return
  busy = true
  try {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
    if (answer.ok) location.reload()
  } catch {} // the server does not answer either
  busy = false
}

document.addEventListener('keydown', event => {
  const typing = event.target.closest('input:not([type=checkbox]), textarea, select')
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || typing) return
  event.preventDefault()
  document.getElementById('search').focus()
})

if (!root.hasAttribute('data-static')) {
  follow(() => {
    const stream = new EventSource(root.dataset.path + '/live')
    stream.onmessage = update
    stream.onerror = () => warn('The server does not answer.')
    return stream
  })
}

function show () {
  button.setAttribute('aria-pressed', String(paused))
  button.textContent = paused ? 'Resume updates' : 'Pause updates'
  tell(paused ? 'updates are paused, on every page of this tab' : '')
}

function toggle () {
  paused = !paused
  store()
  show()
  update()
}

if (button && !root.hasAttribute('data-heals')) {
  paused = stored()
  button.hidden = false
  button.addEventListener('click', toggle)
  show()
}
