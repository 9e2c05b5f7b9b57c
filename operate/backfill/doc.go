// Package backfill answers one question: how does a report get a record for every day, week or month of a range?
//
// The table of records is the truth: a period has a record if a record of the report has the parameters of the
// period. So nothing else needs to be remembered. A backfill that was interrupted begins again, finds what it has
// created, and goes on. period.go has the arithmetic of days, backfill.go finds and waits, and
// unique.go compares and creates.
package backfill
