package trace

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// The names of spans. They and the attributes are a contract: docs/reference/metrics.md lists them.
const (
	WholeJob = "job"      // from the push to the end
	Trigger  = "trigger"  // the record becomes PROCESSING, the job starts
	Listener = "listener" // one try
	Fold     = "fold"     // the join and the rows of the file
	Upload   = "upload"   // the file becomes visible
	Record   = "record"   // the record gets its final status
)

// The names of attributes that not every span has.
const (
	ListenerName = "fanfold.listener"
	Try          = "fanfold.try"
	Result       = "fanfold.result"
	Rows         = "fanfold.rows"
	Bytes        = "fanfold.bytes"
	Status       = "fanfold.status"
)

// Options configures a Tracer. All fields are needed.
type Options struct {
	Tracer  oteltrace.Tracer
	Sampled func(oteltrace.TraceID) bool // decides for a job that was pushed without a traceparent
}

// Tracer makes the spans of jobs. nil: traces are off. It is safe for concurrent use.
type Tracer struct{ o Options }

// New returns a Tracer.
func New(o Options) *Tracer { return &Tracer{o} }

// Begin returns the trace of a job that is about to start: the trace of the traceparent that was pushed
// with its id, or a new one. It is zero if the job is not traced.
func (t *Tracer) Begin(traceparent string, pushed time.Time) job.Trace {
	if t == nil {
		return job.Trace{}
	}
	trace := job.Trace{Pushed: strconv.FormatInt(pushed.UnixMilli(), 10)}
	parent := contextOf(traceparent)
	id := parent.TraceID()
	switch {
	case !parent.IsValid():
		binary.BigEndian.PutUint64(id[:8], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64()|1) // zero is not valid
		if !t.o.Sampled(id) {
			return job.Trace{}
		}
	case !parent.IsSampled():
		return job.Trace{}
	default:
		trace.Pushed += " " + parent.SpanID().String()
	}
	trace.Parent = headerOf(oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: id, SpanID: NewSpanID(), TraceFlags: oteltrace.FlagsSampled,
	}))
	return trace
}

// NewSpanID returns a random id.
func NewSpanID() (id oteltrace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}

// Read returns the trace of a job. It is zero if the job is not traced, or if Redis does not answer
// within a second.
func (t *Tracer) Read(ctx context.Context, hashes scripts.Hashes, id string) job.Trace {
	if t == nil {
		return job.Trace{}
	}
	return job.Trace{Parent: hashes.Traceparent(ctx, id)}
}

// Job identifies the job of a span.
type Job struct {
	ID      string
	Attempt int64
	Report  string
	Trace   job.Trace
}

// Span is a part of the work on a job. nil: it is not traced.
type Span struct{ span oteltrace.Span }

// Start begins a span below the span of the job. The returned context is for requests to other systems:
// see Inject.
func (t *Tracer) Start(ctx context.Context, name string, of Job) (context.Context, *Span) {
	if t == nil || of.Trace.Parent == "" {
		return ctx, nil
	}
	return t.start(ctx, name, of, contextOf(of.Trace.Parent), time.Now())
}

// Trigger sends the span of the start of a job, which began at the given time. The reason is why the
// job did not start; empty: it started.
func (t *Tracer) Trigger(of Job, began time.Time, reason string) {
	if t == nil || of.Trace.Parent == "" {
		return
	}
	_, s := t.start(context.Background(), Trigger, of, contextOf(of.Trace.Parent), began)
	s.End(reason)
}

func (t *Tracer) start(ctx context.Context, name string, of Job, parent oteltrace.SpanContext, began time.Time,
	more ...oteltrace.SpanStartOption) (context.Context, *Span) {
	if !parent.TraceID().IsValid() {
		return ctx, nil // the field was changed from outside
	}
	ctx = oteltrace.ContextWithRemoteSpanContext(ctx, parent)
	ctx, span := t.o.Tracer.Start(ctx, name, append(more, oteltrace.WithTimestamp(began), oteltrace.WithAttributes(
		attribute.String("fanfold.job", of.ID), attribute.Int64("fanfold.attempt", of.Attempt),
		attribute.String("fanfold.report", of.Report),
	))...)
	return ctx, &Span{span}
}

// ofJob is the key of the id that the span of a job gets.
type ofJob struct{}

// WantedSpanID returns the id that a span started with this context must have. It is not valid if the
// id can be random.
func WantedSpanID(ctx context.Context) oteltrace.SpanID {
	id, _ := ctx.Value(ofJob{}).(oteltrace.SpanID)
	return id
}

// End sends the span of an ended job, below the span that pushed the job. A reason marks it as an error.
func (t *Tracer) End(of Job, status, reason string) {
	if t == nil || of.Trace.Parent == "" {
		return
	}
	own := contextOf(of.Trace.Parent)
	at, by, _ := strings.Cut(of.Trace.Pushed, " ")
	now := time.Now()
	pushed := now
	if ms, err := strconv.ParseInt(at, 10, 64); err == nil && ms < now.UnixMilli() {
		pushed = time.UnixMilli(ms)
	}
	parent, _ := oteltrace.SpanIDFromHex(by) // none: the span is the root
	ctx := context.WithValue(context.Background(), ofJob{}, own.SpanID())
	_, s := t.start(ctx, WholeJob, of, own.WithSpanID(parent), pushed,
		oteltrace.WithSpanKind(oteltrace.SpanKindConsumer))
	s.Text(Status, status)
	s.End(reason)
}

// Text adds an attribute.
func (s *Span) Text(key, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number adds an attribute.
func (s *Span) Number(key string, n int64) {
	if s != nil {
		s.span.SetAttributes(attribute.Int64(key, n))
	}
}

// End ends a span. The reason says, for people, why the work failed; empty: it did not fail.
func (s *Span) End(reason string) {
	if s == nil {
		return
	}
	if reason != "" {
		s.span.SetStatus(codes.Error, reason)
	}
	s.span.End()
}
