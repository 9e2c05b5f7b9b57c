// Package dashboard answers what an operator sees in a browser.
//
// New makes a handler of pages: running jobs, one job, dead jobs by error, listeners, due ids and
// timers, and reports. The server renders all pages (pages/). They work without JavaScript, which only
// keeps them up to date (assets/live.js).
//
// One sampler reads Redis for all browsers (sampler.go), at most every 2 seconds. After each sample it
// rests twenty times as long as the sample took. Without a browser it reads only the figures of the
// charts. The page of one job asks Redis directly.
//
// The package internal/access decides who may see a page.
package dashboard
