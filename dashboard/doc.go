// Package dashboard answers what an operator sees in a browser: the pages of jobs, records, dead jobs,
// quarantined entries, listeners, delayed ids, timers and reports, and buttons that change them.
//
// New makes the handler. The server renders all pages (pages/). They work without JavaScript, which only
// keeps them up to date (assets/live.js). job.go, dead.go and records.go make the pages of these nouns,
// overview.go and its neighbours those that only list what a sample has, and change.go makes changes. Every table
// is a listing (table.go): a list of columns, which one template renders. Its state is in the address of the page, and
// bulk.go changes its selected rows. search.go finds what a text names, timeline.go draws when the steps of a job
// waited and worked, and acts.go shows who did what.
//
// One sampler reads Redis for all browsers (sampler.go), at most every 2 seconds. After every sample it
// rests a hundred times as long as the sample took. Without a browser it reads only the figures of the
// charts. The page of one job reads Redis directly, and the pages of records read the database.
//
// The package internal/access decides who may see a page and who may change something.
package dashboard
