// Shows the page at data-page, such as https://reports.example.com/o/TOKEN, after this script, as high as its content.
(() => {
  const { page, title } = document.currentScript.dataset
  const frame = document.createElement('iframe')
  Object.assign(frame, { src: page, title: title || 'Reports' })
  frame.style.cssText = 'width: 100%; border: 0'
  addEventListener('message', e => {
    const ours = e.source === frame.contentWindow && e.origin === new URL(page).origin
    if (ours && e.data?.fanfold === 'height') frame.style.height = `${Number(e.data.height)}px`
  })
  document.currentScript.after(frame)
})()
