// Package why answers what a job waits for, what will happen by itself, and what an operator can do.
// The command line, the dashboard and package watch give the same answer.
//
// It works in two steps. First, gather.go collects facts from Redis, the records and the sources. Then
// diagnose turns the facts into a Verdict, without any server: it looks up rules in tables.
//
// A rule is a row: its condition, its kind, its severity, what it says, and the remedies. A new reason
// is one row in rules_job.go (the whole job) or rules_step.go (a listener's task, or fan-in), and its
// Kind. Conditions and texts name facts: those of a job are the tables in names_job.go, those of a step
// in names_step.go, and facts that are made of other facts in made. Parts of sentences are in phrases.go.
//
// A new kind of a step also needs the state of its chip in package dashboard (stateOf). A new kind of a job may
// need a row in commands.go, which lists the commands that show its facts, and in package show (Lines).
package why
