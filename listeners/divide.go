package listeners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/processors"
	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/spool"
)

// Divider is a Connection that can read the listeners with Divide in parts.
type Divider interface {
	// Divide opens at most n connections for a task, as Source.Read does, and calls Task.Begin. They see the same rows,
	// or those of moments close together where Divide.Snapshot allows that. If the server cannot prove which rows they
	// see, the error is Permanent.
	Divide(ctx context.Context, task Task, n int) (Division, error)
}

// Division has the connections of a task that is read in parts.
type Division interface {
	Connections() int // at least one
	// Snapshot is what the server calls the rows that all connections see. If that of another Division is the same,
	// it sees the same rows. It is empty if the connections may see different ones.
	Snapshot() string
	// Ends returns the least and the greatest number in the column Divide.By; ok is false if it has none.
	Ends(ctx context.Context) (least, greatest int64, ok bool, err error)
	// Read reads the rows of a range, as Source.Read does, on a connection with a number from 0. It may be called for
	// different connections at the same time.
	Read(ctx context.Context, connection int, of report.Range, out *Writer) error
	Close() // it may be called twice
}

// Whole returns a number of the column Divide.By, as a database writes it. The error is Permanent.
func Whole(by, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, Permanent(fmt.Errorf("divide.by: column %s has %.40q, not a whole number up to %d: name another column",
			by, text, math.MaxInt64))
	}
	return n, nil
}

// parts is what a divided task has read. It is the memo of the task, so that its next worker goes on with it.
type parts struct {
	Snapshot string           `json:"snapshot,omitempty"` // that all parts are of; empty: of several
	Began    time.Time        `json:"began,omitzero"`     // the first try of which it has parts
	By       string           `json:"by"`                 // Divide.By, which is not part of a definition's hash
	Bounds   []int64          `json:"bounds"`             // between the ranges
	Columns  []dataset.Column `json:"columns,omitempty"`  // that are stored
	Rows     int64            `json:"rows,omitempty"`     // of what was read, which the state shows
	Bytes    int64            `json:"bytes,omitempty"`    // of the segments of what was read
	Read     []string         `json:"read"`               // of each range: its runs of the ticket, noRows, or empty
	// Void: a try that finds it starts anew. The dataset was complete, and its segments were lost, or they have
	// different columns.
	Void bool `json:"void,omitempty"`
}

const noRows = "-"

// divided reads the data of a task in parts, stores it in the spool and completes the task. If one part is enough, it
// is written to out instead, and whole is true.
func (r *tasks) divided(ctx context.Context, t *task, source Source, out *Writer) (whole bool, err error) {
	divider, ok := source.(Divider)
	if !ok || t.o.Spool == nil {
		return true, source.Read(ctx, t.Task, out)
	}
	all, more := r.connections[t.Listener.Source], 0 // connections than one
	if all != nil {
		// The other half is left to other tasks.
		for 1+more < min(t.Listener.Divide.Parts, cap(all.taken)/2) && all.try() {
			more++
		}
		defer func() {
			for range more {
				all.leave()
			}
		}()
	}
	division, err := divider.Divide(ctx, t.Task, 1+more)
	if err != nil {
		return true, err
	}
	defer division.Close()
	for ; more >= division.Connections(); more-- {
		all.leave()
	}
	d := &divided{task: t, division: division}
	if err := d.begin(ctx); err != nil {
		return true, err
	}
	if len(d.Bounds) == 0 {
		return true, division.Read(ctx, 0, report.Range{}, out)
	}
	defer processors.Raise()()
	if err := d.read(ctx); err != nil {
		return false, err
	}
	division.Close()
	return false, d.complete(ctx)
}

// divided is a task that is read in parts.
type divided struct {
	*task
	division Division

	mu sync.Mutex
	parts
	begun []bool // parts that a connection reads or has read
	rests int    // connections that pause

	bytes atomic.Int64 // of all segments
}

// begin goes on with what an earlier try has read if that is part of the same snapshot, or else divides anew.
func (d *divided) begin(ctx context.Context) error {
	own, snapshot := d.Listener.Divide, d.division.Snapshot()
	if d.resumes() {
		switch {
		case d.Snapshot == snapshot && snapshot != "":
		case own.Snapshot == report.SnapshotApproximate:
			d.Snapshot = ""
		default:
			d.log.Info("reads all parts anew: the server does not prove that it has the rows of the last try. What was "+
				"written to it since counts, in any table", "job", d.ID, "listener", d.Listener.Name,
				"was", d.Snapshot, "now", snapshot)
			d.parts = parts{}
		}
	}
	if d.Read == nil {
		least, greatest, ok, err := d.division.Ends(ctx)
		if err != nil {
			return err
		}
		d.Snapshot, d.By, d.Began = snapshot, own.By, d.task.began
		if ok {
			d.Bounds = own.Bounds(least, greatest, spooled.MinRange)
		}
		d.Read = make([]string, len(d.Bounds)+1)
		if len(d.Bounds) == 0 {
			return nil
		}
		// The state also tells then that the job may have segments, before it lists one.
		if err := d.remember(ctx); err != nil {
			return err
		}
	}
	d.begun = make([]bool, len(d.Read))
	for i, read := range d.Read {
		d.begun[i] = read != ""
	}
	ticket, err := d.ticket()
	d.bytes.Store(ticket.Bytes())
	return err
}

// resumes reads the memo. It returns false if it has no parts that can be used.
func (d *divided) resumes() bool {
	var p parts
	if json.Unmarshal(d.Memo, &p) != nil || p.Void || p.By != d.Listener.Divide.By ||
		len(p.Read) != len(p.Bounds)+1 || len(p.Bounds) == 0 {
		return false
	}
	for _, read := range p.Read {
		if read == "" || read == noRows {
			continue
		}
		if _, err := d.o.Spool.Open(read, nil); err != nil { // it is of another spool
			return false
		}
	}
	d.parts = p
	return true
}

// read reads all parts that are not read yet, one on each connection at a time.
func (d *divided) read(ctx context.Context) error {
	d.own.Writer() // makes one, which all goroutines use
	group, ctx := errgroup.WithContext(ctx)
	count(d.task, 0, d.division.Connections())
	for connection := range d.division.Connections() {
		group.Go(func() error {
			defer count(d.task, 0, -1)
			for first := true; ; first = false {
				number, ok := d.next()
				if !ok {
					return nil
				}
				if !first {
					if err := d.rest(ctx); err != nil {
						return err
					}
				}
				if err := d.readPart(ctx, connection, number); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// next returns the number of a part that no connection has begun.
func (d *divided) next() (number int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	number = slices.Index(d.begun, false)
	if number >= 0 {
		d.begun[number] = true
	}
	return number, number >= 0
}

// readPart reads a part, and remembers where its segments lie.
func (d *divided) readPart(ctx context.Context, connection, number int) error {
	o := &partOutput{of: d, ctx: ctx, segments: d.o.Spool.Create(spool.Name{
		Report: d.Report.Name, ID: d.ID, Attempt: d.Attempt, Listener: d.Listener.Name, Generation: d.own.Generation,
		Writer: d.own.Writer() + "p" + strconv.Itoa(number),
	})}
	out := writerOf(d.task, o.flush, &inSpool)
	err := d.division.Read(ctx, connection, report.RangeOf(d.Bounds, number), out)
	if err == nil {
		err = out.Close()
	}
	out.Stop()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.Columns == nil:
		d.Columns = o.columns
	case !slices.Equal(d.Columns, o.columns):
		d.Void = true
		return errors.Join(d.remember(ctx), errors.New("the columns of the query have changed while it was read in parts"))
	}
	if d.Read[number] = noRows; len(o.words) > 0 {
		d.Read[number] = o.segments.URL() + " " + strings.Join(o.words, " ")
	}
	d.Rows, d.Bytes = d.Rows+o.rows, d.Bytes+o.bytes
	return d.remember(ctx)
}

// remember stores the parts as the memo. One that is too large is not stored: the next worker begins anew.
func (d *divided) remember(ctx context.Context) error {
	text, err := json.Marshal(d.parts)
	if err != nil {
		return err
	}
	if len(text) > scripts.MaxMemo-1<<10 {
		text = []byte("{}")
	}
	return d.task.remember(ctx, text)
}

// ticket returns that of the parts that were read.
func (d *divided) ticket() (spool.Ticket, error) {
	text := d.text()
	if text == "" {
		return nil, nil
	}
	return spool.ParseTicket(text)
}

func (d *divided) text() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(d.Read), func(read string) bool {
		return read == "" || read == noRows
	}), " ")
}

// complete has Redis list the segments of all parts, and completes the task.
func (d *divided) complete(ctx context.Context) error {
	defer d.pause(&inRedis)()
	ticket, err := d.ticket()
	if err != nil {
		return err
	}
	if ticket == nil {
		empty := scripts.Chunk{Columns: d.Columns}
		for _, c := range d.Columns {
			empty.Names, empty.Fields = append(empty.Names, c.Name), append(empty.Fields, []byte("[]"))
		}
		return d.store(ctx, empty, true)
	}
	d.Void = true
	if err := d.remember(ctx); err != nil {
		return err
	}
	all := scripts.Segment{Bytes: ticket.Bytes(), Columns: d.Columns, Parts: len(d.Read), Snapshot: d.Snapshot}
	all.At, all.Text, _ = strings.Cut(d.text(), " ")
	for _, s := range ticket.Segments() {
		all.Chunks, all.Rows = all.Chunks+s.Chunks, all.Rows+s.Rows
	}
	d.task.rows = all.Rows
	if err := d.list(ctx, all); err != nil {
		return err
	}
	began := d.task.began
	if d.Snapshot == "" && !d.Began.IsZero() {
		began = d.Began // the parts of earlier tries are of their moments
	}
	return d.script(ctx, 0, func() (scripts.Outcome, error) {
		return d.own.Complete(ctx, scripts.Chunk{Number: all.Chunks - 1}, time.Since(began))
	})
}

// partOutput writes the segments of a part.
type partOutput struct {
	of       *divided
	ctx      context.Context
	segments *spool.Writer
	columns  []dataset.Column
	words    []string // of the ticket
	rows     int64
	bytes    int64
}

// flush is a FlushFunc.
func (o *partOutput) flush(columns []dataset.Column, b *dataset.Builder, last bool) error {
	processors.Yield()
	o.columns = columns
	if b.Rows() > 0 {
		o.segments.Add(int64(b.Rows()), b.Fields())
	}
	if o.segments.Empty() || !last && !o.segments.Full() {
		return nil
	}
	s, err := o.segments.Commit(o.ctx)
	if err != nil {
		return spoolFailed(o.ctx, fmt.Errorf("a part: %w", err))
	}
	o.words, o.rows, o.bytes = append(o.words, s.String()), o.rows+s.Rows, o.bytes+s.Bytes
	if o.of.bytes.Add(s.Bytes) > o.of.o.Limits.SpoolBytes {
		return errTooMuchSpooled
	}
	return nil
}
