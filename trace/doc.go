// Package trace answers one question: how does a job appear in a distributed trace?
//
// A Tracer makes the spans of jobs (trace.go). A nil *Tracer makes none and costs nothing, so roles
// need not check whether traces are on. Two fields of a job's hash (job.Trace) locate its trace. The
// script that starts the job writes them, and every process that works on the job starts its spans
// below the span that they name. That span is the whole job; the process that ends the job sends it.
// header.go reads and writes the traceparent of other systems.
//
// Package otlp sends the spans. No other package links its exporter.
package trace
