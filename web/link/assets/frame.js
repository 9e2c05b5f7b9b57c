// Tells the page that shows this one in a frame how high this one is. Only pages of allowed origins hear it.
'use strict'

if (parent !== window) {
  const root = document.documentElement
  root.classList.add('framed')
  new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height)
    for (const origin of root.dataset.frames.split(' ')) parent.postMessage({ fanfold: 'height', height }, origin)
  }).observe(document.body)
}
