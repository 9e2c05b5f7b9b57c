// Package trace answers one question: where in a distributed trace is a job?
//
// A Tracer makes the spans of jobs: trace.go. A nil *Tracer makes none and costs nothing: so the
// roles need not ask whether traces are on. Where the trace of a job is stands in two fields of
// its hash (job.Trace), which the script that starts the job writes; every process that works on
// it begins its spans there. The span of the job as a whole has the id in those fields, and is sent
// by the process that ends the job. header.go has what goes to and comes from other systems.
//
// Package otlp sends the spans. No other package links its exporter.
package trace
