package sink

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// encode writes the manifest as indented JSON. It does not use encoding/json, because
// every small job has a manifest, and reflection took as long as the job's join.
func (m Manifest) encode() ([]byte, error) {
	o := encoder{out: make([]byte, 0, 2048)}
	o.begin('{')
	o.key("job")
	o.begin('{')
	o.text("record", m.Job.Record)
	o.integer("attempt", m.Job.Attempt)
	o.text("report", m.Job.Report)
	if !m.Job.StartedAt.IsZero() {
		o.time("started_at", m.Job.StartedAt)
	}
	o.end('}')
	o.text("definition", m.Definition)
	o.raw("parameters", m.Parameters)
	o.integer("rows", m.Rows)
	o.integer("bytes", m.Bytes)
	o.text("crc32c", m.CRC32C)
	o.text("file", m.File)
	o.text("save_as", m.SaveAs)
	o.time("created_at", m.CreatedAt)
	o.optional("time_zone", m.TimeZone)
	o.list("columns", len(m.Columns), func(i int) { m.Columns[i].encode(&o) })
	o.list("listeners", len(m.Listeners), func(i int) { m.Listeners[i].encode(&o) })
	o.list("fold", len(m.Fold), func(i int) { m.Fold[i].encode(&o) })
	o.end('}')
	return append(o.out, '\n'), o.err
}

func (c *ManifestColumn) encode(o *encoder) {
	o.text("label", c.Label)
	o.optional("listener", c.Listener)
	o.text("column", c.Column)
	o.optional("type", string(c.Type))
	if c.Escaped != 0 {
		o.integer("escaped", c.Escaped)
	}
}

func (l *ManifestListener) encode(o *encoder) {
	o.text("name", l.Name)
	o.integer("stage", int64(l.Stage))
	o.integer("rows", l.Rows)
	o.count("unmatched", l.Unmatched)
	o.count("first_unmatched", l.FirstUnmatched)
	o.integer("tries", l.Tries)
	if !l.AsOf.IsZero() {
		o.time("as_of", l.AsOf)
	}
	if !l.DoneAt.IsZero() {
		o.time("done_at", l.DoneAt)
	}
	o.integer("duration_ms", l.DurationMS)
	if l.ReusedFrom != 0 {
		o.integer("reused_from", l.ReusedFrom)
	}
	if l.Parts != 0 {
		o.integer("parts", l.Parts)
		o.text("snapshot", l.Snapshot)
	}
	o.list("columns", len(l.Columns), func(i int) { encodeColumn(o, l.Columns[i]) })
	o.optional("omitted", l.Omitted)
	if l.Stale {
		o.key("stale")
		o.out = append(o.out, "true"...)
	}
	o.optional("error", l.Error)
}

func (s *ManifestStep) encode(o *encoder) {
	o.text("step", s.Step)
	if s.Depth != 0 {
		o.integer("depth", int64(s.Depth))
	}
	o.count("rows", s.Rows)
	o.optional("how", s.How)
}

func encodeColumn(o *encoder, c dataset.Column) {
	o.text("name", c.Name)
	o.text("type", string(c.Kind))
	if c.Bits != 0 {
		o.integer("bits", int64(c.Bits))
	}
	if c.Fixed && c.Kind == report.KindFloat {
		o.key("fixed")
		o.out = append(o.out, "true"...)
	}
	o.optional("time_zone", c.Zone)
	if c.Zerofill != 0 {
		o.integer("zerofill", int64(c.Zerofill))
	}
}

// encoder writes JSON with an indent of two spaces, and keeps the first error.
type encoder struct {
	out   []byte
	depth int
	more  bool // a member stands before the next one
	err   error
}

func (o *encoder) begin(bracket byte) {
	o.out = append(o.out, bracket)
	o.depth, o.more = o.depth+1, false
}

func (o *encoder) end(bracket byte) {
	o.depth--
	if o.more {
		o.line()
	}
	o.out, o.more = append(o.out, bracket), true
}

func (o *encoder) line() {
	o.out = append(o.out, '\n')
	for range o.depth {
		o.out = append(o.out, "  "...)
	}
}

// next begins a member of an object or a list.
func (o *encoder) next() {
	if o.more {
		o.out = append(o.out, ',')
	}
	o.line()
	o.more = true
}

func (o *encoder) key(name string) {
	o.next()
	o.quote(name)
	o.out = append(o.out, ": "...)
}

func (o *encoder) text(name, value string) {
	o.key(name)
	o.quote(value)
}

func (o *encoder) optional(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *encoder) integer(name string, value int64) {
	o.key(name)
	o.out = strconv.AppendInt(o.out, value, 10)
}

// count writes an integer unless it is nil.
func (o *encoder) count(name string, value *int64) {
	if value != nil {
		o.integer(name, *value)
	}
}

// time writes a time in UTC, to the millisecond.
func (o *encoder) time(name string, value time.Time) {
	o.key(name)
	o.out = value.UTC().Truncate(time.Millisecond).AppendFormat(append(o.out, '"'), time.RFC3339Nano)
	o.out = append(o.out, '"')
}

// list writes n objects.
func (o *encoder) list(name string, n int, member func(i int)) {
	o.key(name)
	o.begin('[')
	for i := range n {
		o.next()
		o.begin('{')
		member(i)
		o.end('}')
	}
	o.end(']')
}

// raw writes JSON as it was written, but for its spaces; nil becomes null.
func (o *encoder) raw(name string, value []byte) {
	o.key(name)
	if value == nil {
		value = []byte("null")
	}
	out := bytes.NewBuffer(o.out)
	if err := json.Indent(out, value, indents[:2*o.depth], "  "); err != nil && o.err == nil {
		o.err = fmt.Errorf("%s: %w", name, err)
	}
	o.out = out.Bytes()
}

const indents = "        "

// quote writes a string.
func (o *encoder) quote(value string) {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			var out bytes.Buffer
			e := json.NewEncoder(&out)
			e.SetEscapeHTML(false) // what people wrote is to be read as they wrote it
			_ = e.Encode(value)    // a string is always encoded
			o.out = append(o.out, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
			return
		}
	}
	o.out = append(append(append(o.out, '"'), value...), '"')
}
