// Package dashboard answers one question: what does a browser see?
//
// New makes a handler of pages for operators: the jobs that run, one job, dead jobs by their
// error, listeners, what is due, reports. All pages are made on the server (pages/) and
// work without JavaScript, which only keeps them up to date (assets/live.js).
//
// One sampler reads Redis for all browsers (sampler.go): at most every 2 seconds, and it rests twenty
// times as long as it has worked. While no browser looks it reads figures for the charts alone. The
// page of one job asks at once.
//
// Who may see a page is decided before a request comes here, by package internal/access.
package dashboard
