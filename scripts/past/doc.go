// Package past answers one question: how long did earlier runs of a report take?
//
// Runs reads the finished events of fanfold:events, which contain the report and the duration. It
// keeps the durations of the newest runs of every report that made a file. Nothing is stored
// elsewhere, so a process knows more the longer it runs.
package past
