package listeners

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// Desk hands the tasks of external listeners to workers that have no Redis, and applies what they send. It uses
// the code that applies the replies in streams, so the same fences hold, and any number of processes can have one.
//
// Its errors: fault.Gone, the worker must stop; fault.Input, what it sent is not valid; Gap; ErrNotHere; others
// mean that the same call may succeed later. It is safe for concurrent use.
type Desk struct {
	parts []*external // by partition
	turn  atomic.Int64
}

// NewDesk makes a Desk of the Runners of all partitions, in their order. They need not run.
func NewDesk(runners []*Runner) *Desk {
	d := &Desk{}
	for _, r := range runners {
		d.parts = append(d.parts, &external{r})
	}
	return d
}

// Tokens returns the tokens of every external listener that has some, in any of the reports.
func Tokens(reports map[string]*report.Report) map[string][]string {
	all := map[string][]string{}
	for _, rep := range reports {
		for _, l := range rep.Listeners() {
			if f, ok := l.Own.(*externalFields); ok && f.Token != "" {
				all[l.Name] = append(all[l.Name], strings.Fields(f.Token.Reveal())...)
			}
		}
	}
	return all
}

// Gap is the error of a page that is not the next one, or of an end before or after the last page.
type Gap struct {
	Expected int64  // number of the next page
	what     string // was sent
}

// Error implements error.
func (g Gap) Error() string {
	return fmt.Sprintf("%s, but page %d is the next one", g.what, g.Expected)
}

// ErrNotHere is the error of a task whose definition is not in the configuration of this process.
var ErrNotHere = errors.New("the definition of this task is not in this configuration")

// Held identifies a task that a worker has claimed.
type Held struct {
	scripts.Message
	Listener string
	Entry    string // of the task's stream
	Worker   string // new for every claim; who does not know it cannot act for the worker
}

// String returns a text that stands in a URL as it is, and that ParseHeld reads.
func (h Held) String() string {
	return strings.Join([]string{h.Listener, h.ID, strconv.FormatInt(h.Attempt, 10), h.Entry, h.Worker}, "~")
}

// ParseHeld reads a text of Held.String. It returns false if it is none.
func ParseHeld(text string) (Held, bool) {
	words := strings.Split(text, "~")
	if len(words) != 5 {
		return Held{}, false
	}
	a, err := parseReply(map[string]string{
		"listener": words[0], "id": words[1], "attempt": words[2], "entry": words[3], "worker": words[4],
		"consumer": deskConsumer, "type": replyAlive,
	})
	h := Held{a.Message, a.Listener, a.Entry, a.Worker}
	return h, err == nil && h.String() == text
}

// deskConsumer is the consumer for which claimed entries are pending. All processes share it: what tells workers
// apart is Held.Worker.
const deskConsumer = "http"

// deskPrefix begins the names of workers that have claimed a task. The writer of their segments follows.
const deskPrefix = "http-"

// Claimed is a task that was claimed.
type Claimed struct {
	Held
	Report     string
	Definition string
	Parameters []byte          // JSON object
	Listener   report.Listener // with columns, types, silence and timeout
	Earlier    []Earlier       // the listeners of the stages before, by name
	Segments   string          // what the URLs of its segments begin with, see Segment; empty: rows alone are taken
}

// Earlier is a listener of an earlier stage.
type Earlier struct {
	Listener string
	Columns  []string
	Pages    int64 // of every column; 0: it was left out
}

// maxSkipped is the maximum number of entries of a partition that one Claim passes over.
const maxSkipped = 100

// Claim claims the next task of a listener; nil: there is none now. It does not wait for one.
func (d *Desk) Claim(ctx context.Context, listener string) (*Claimed, error) {
	first := int(d.turn.Add(1))
	for i := range d.parts {
		e := d.parts[(first+i)%len(d.parts)]
		for range maxSkipped {
			entry, err := e.o.Scripts.Entries.Next(ctx, e.o.Scripts.Keys.Task(listener), deskConsumer)
			if err != nil {
				return nil, err
			}
			if entry == nil {
				break
			}
			if c, err := e.claim(ctx, listener, *entry); c != nil || err != nil {
				return c, err
			}
		}
	}
	return nil, nil
}

// claim takes the task of an entry; nil: it needs no work, or another process does it. An entry that is left
// here ends as that of a silent worker.
func (e *external) claim(ctx context.Context, listener string, entry scripts.Entry) (*Claimed, error) {
	message, ok := entry.Message()
	if !ok {
		return nil, nil
	}
	writer := strings.ToLower(rand.Text())
	h := Held{message, listener, entry.ID, deskPrefix + writer}
	w, state, err := e.send(ctx, h, map[string]string{"type": replyAlive})
	switch {
	case errors.Is(err, ErrNotHere):
		own, _ := e.o.Scripts.Tasks.New(message, listener, entry)
		return nil, own.HandBack(ctx)
	case errors.Is(err, fault.Gone), errors.Is(err, scripts.ErrBroken):
		return nil, nil
	case err != nil:
		return nil, err
	}
	c := &Claimed{Held: h, Report: state.Report, Definition: state.Definition, Parameters: state.Parameters,
		Listener: *w.task.Listener}
	if takesSegments(w.task) == nil {
		c.Segments = w.o.Spool.Prefix(segments{w}.name(0, writer))
	}
	for _, name := range slices.Sorted(maps.Keys(state.Tasks)) {
		t := state.Tasks[name]
		if t.Stage >= state.Tasks[listener].Stage || !t.Done {
			continue
		}
		from, err := earlierOf(name, t)
		if err != nil {
			return nil, err
		}
		c.Earlier = append(c.Earlier, from)
	}
	return c, nil
}

// earlierOf returns what a listener that is done has found.
func earlierOf(name string, t job.TaskState) (Earlier, error) {
	from := Earlier{Listener: name, Pages: t.Chunks}
	if t.Policy != "" {
		from.Pages = 0
	}
	var columns []dataset.Column
	if len(t.Columns) > 0 {
		if err := json.Unmarshal(t.Columns, &columns); err != nil {
			return from, fmt.Errorf("columns of %s: %w", name, err)
		}
	}
	for _, column := range columns {
		from.Columns = append(from.Columns, column.Name)
	}
	return from, nil
}

// Alive renews the lease of a task.
func (d *Desk) Alive(ctx context.Context, h Held) error {
	return d.send(ctx, h, map[string]string{"type": replyAlive})
}

// MaxPage is the maximum size of a page of rows, in bytes.
const MaxPage = maxReplyBytes

// Rows stores a page of rows: a JSON array of at most MaxPage bytes, with a number from 0. If it returns nil, the
// page is stored, now or by an earlier call with the same number. Rows that are not valid fail the task.
func (d *Desk) Rows(ctx context.Context, h Held, number int64, rows []byte) error {
	return d.send(ctx, h, map[string]string{
		"type": replyRows, "number": strconv.FormatInt(number, 10), "rows": string(rows),
	})
}

// Segment lists a segment in the spool that the worker has written, in place of a page: its URL is Claimed.Segments,
// the number and .zst. If it returns nil, the segment is listed, now or by an earlier call with the same number. One
// that is not valid fails the task. It takes as long as reading the segment.
func (d *Desk) Segment(ctx context.Context, h Held, number int64, url string) error {
	return d.send(ctx, h, map[string]string{
		"type": replyRows, "number": strconv.FormatInt(number, 10), "segment": url,
	})
}

// Done completes a task whose pages are all stored.
func (d *Desk) Done(ctx context.Context, h Held, pages int64) error {
	return d.send(ctx, h, map[string]string{"type": replyDone, "chunks": strconv.FormatInt(pages, 10)})
}

// Fail ends the try with an error. If permanent is true, it is the last one.
func (d *Desk) Fail(ctx context.Context, h Held, text string, permanent bool) error {
	fields := map[string]string{"type": replyFailed, "error": text}
	if permanent {
		fields["permanent"] = "1"
	}
	return d.send(ctx, h, fields)
}

func (d *Desk) send(ctx context.Context, h Held, fields map[string]string) error {
	_, _, err := d.of(h).send(ctx, h, fields)
	return err
}

// of returns the partition of a task.
func (d *Desk) of(h Held) *external { return d.parts[report.Partition(h.ID, len(d.parts))] }

// send applies what a worker sends, in the form of a reply, and returns the state of the job before.
func (e *external) send(ctx context.Context, h Held, fields map[string]string) (*worker, *job.State, error) {
	maps.Copy(fields, map[string]string{
		"id": h.ID, "attempt": strconv.FormatInt(h.Attempt, 10), "listener": h.Listener, "worker": h.Worker,
		"entry": h.Entry, "consumer": deskConsumer,
	})
	a, err := parseReply(fields)
	if err != nil {
		return nil, nil, fault.Input.Of(err)
	}
	said, err := step.Insist(ctx, e.log, "read the time", func() (time.Time, error) { return e.o.Scripts.Now(ctx) })
	if err != nil {
		return nil, nil, err
	}
	w, state, err := e.worker(ctx, a, said)
	if err == nil {
		err = w.answer(ctx)
	}
	var no refused
	switch {
	case errors.As(err, &no):
		if err := e.note(ctx, a, no); err != nil && !errors.Is(err, scripts.ErrFull) {
			return nil, nil, err
		}
		return nil, nil, fault.Gone.Of(no)
	case errors.Is(err, errNobody):
		return nil, nil, fault.Gone.Of(err)
	case errors.Is(err, errUnknown):
		return nil, nil, ErrNotHere
	}
	return w, state, err
}

// answer applies a reply whose worker waits for the outcome. Its pages come in order: it knows that those before
// are stored.
func (w *worker) answer(ctx context.Context) error {
	if w.state.Done && w.Type == replyRows {
		return refused{"the task is done"}
	}
	if err := w.take(ctx); err != nil {
		return err
	}
	if w.ended {
		return endingOf(w)
	}
	switch next := arrived(w.state); {
	case w.Type == replyRows && w.Number > next:
		return Gap{next, fmt.Sprintf("this is page %d", w.Number)}
	case w.Type == replyDone && w.Number != next:
		return Gap{next, fmt.Sprintf("the end says %d pages", w.Number)}
	}
	if err := w.apply(ctx); err != nil {
		return err
	}
	return endingOf(w)
}

// endingOf returns why a reply has ended the try against the will of its worker; nil: it has not.
func endingOf(w *worker) error {
	switch {
	case w.ended && w.why == nil && w.Type == replyRows:
		return refused{"the task is done"} // by another request, so this page may not be stored
	case w.why == nil || w.Type == replyFailed:
		return nil
	case w.Type == replyRows && errors.Is(w.why, ErrPermanent) && !errors.Is(w.why, errReport):
		return fault.Input.New("%w: the task has failed", w.why)
	}
	return fault.Gone.New("the try has ended: %w", w.why)
}

// Values returns one page of a column of an earlier stage, as a JSON array, to the worker that has the task. The
// error is fault.NotFound if there is no such page.
func (d *Desk) Values(ctx context.Context, h Held, listener, column string, page int64) ([]byte, error) {
	e := d.of(h)
	state, err := e.look(ctx, reply{Message: h.Message, Listener: h.Listener})
	if err == nil && state.Tasks[h.Listener].Owner != h.Worker {
		err = refused{"another worker has the task"}
	}
	if errors.As(err, new(refused)) {
		return nil, fault.Gone.Of(err)
	} else if err != nil {
		return nil, err
	}
	t := state.Tasks[listener]
	from, err := earlierOf(listener, t)
	if err != nil {
		return nil, err
	}
	earlier := t.Done && t.Stage < state.Tasks[h.Listener].Stage
	if !earlier || page >= from.Pages || !slices.Contains(from.Columns, column) {
		return nil, fault.NotFound.New("the stages before have no page %d of %s.%s", page, listener, column)
	}
	fields, err := e.o.Scripts.Folds.Stored(h.ID, listener).Get(ctx, []string{column}, page)
	if errors.Is(err, scripts.ErrNoChunk) {
		return nil, fault.NotFound.Of(err)
	} else if err != nil {
		return nil, err
	}
	chunk, err := dataset.DecodeChunk([]dataset.Column{{Name: column}}, fields)
	if err != nil {
		return nil, err
	}
	array := []byte{'['}
	for row := range chunk.Rows() {
		if row > 0 {
			array = append(array, ',')
		}
		array = append(array, chunk.Cell(0, row)...)
	}
	return append(array, ']'), nil
}
