// Package past answers one question: how long did earlier runs of a report take?
//
// Runs reads it from the ends of jobs in fanfold:events, which say the report and the time since
// the start. It keeps the durations of the newest runs of each report that made a file, so a
// process knows more the longer it runs; nothing is stored elsewhere.
package past
