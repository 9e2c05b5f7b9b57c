package spool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/sink"
)

// segmentBytes is the size from which a segment is complete: one request each way, and several of them fit into the
// memory of a process.
const segmentBytes = 8 << 20

// Options configures a Spool. Sink is required.
type Options struct {
	Sink  sink.Sink
	Tag   string // of the installation, see files.NewTag; empty: nothing is deleted
	Above int64  // size of a dataset above which it is spooled, in bytes of JSON
	Plain bool   // segments are not compressed
	// SegmentBytes is the size from which a segment is complete; 0 means 8 MiB.
	SegmentBytes int
}

// Spool is where the segments of large datasets lie. It is safe for concurrent use.
type Spool struct{ o Options }

// New returns a Spool. It does no I/O.
func New(o Options) *Spool {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = segmentBytes
	}
	return &Spool{o}
}

// Above returns the size of a dataset above which it is spooled, in bytes of JSON.
func (s *Spool) Above() int64 { return s.o.Above }

// Sink returns where the segments lie.
func (s *Spool) Sink() sink.Sink { return s.o.Sink }

// Elsewhere is the error of a ticket whose segments lie in another spool than that of this process.
type Elsewhere struct{ Ticket, Spool string }

// Error implements error.
func (e Elsewhere) Error() string {
	return fmt.Sprintf("the dataset lies in %s, and the spool of this process is %s: "+
		"give all processes the same spool.url until the jobs have ended that began with the other one", e.Ticket, e.Spool)
}

// ErrTicket matches errors of a ticket that cannot be parsed, or lists other chunks or columns than the job's state.
var ErrTicket = errors.New("the ticket of a dataset in the spool is not valid, because another program changed it or a " +
	"newer version of Fanfold wrote it: update all processes and retry the job")

// Damaged is the error of a segment that does not exist, or has other bytes than its ticket says.
type Damaged struct {
	URL string // of the segment
	Why string
}

// Error implements error.
func (d Damaged) Error() string { return fmt.Sprintf("segment %s of the spool %s", d.URL, d.Why) }

// maxDrops is how many segments of a job Drop deletes at the same time: a bucket needs some 50 ms for each.
const maxDrops = 16

// Drop deletes the segments of a job's attempts up to last, and what interrupted writes left of them. Objects that are
// held stay.
func (s *Spool) Drop(ctx context.Context, report, id string, last int64, held map[string]bool) error {
	drops, ctx := errgroup.WithContext(ctx)
	drops.SetLimit(maxDrops)
	for listed, err := range s.o.Sink.List(ctx, report+"/"+id+"-") {
		if err != nil {
			return errors.Join(drops.Wait(), err)
		}
		if n, ours := s.Ours(listed); ours && n.ID == id && n.Attempt <= last && !held[listed.Object] {
			drops.Go(func() error { return s.o.Sink.Remove(ctx, listed.Name) })
		}
	}
	return drops.Wait()
}

// Objects returns the objects that tickets list, by their names in the sink.
func (s *Spool) Objects(tickets []string) map[string]bool {
	objects := map[string]bool{}
	for _, text := range tickets {
		ticket, _ := ParseTicket(text) // nothing reads one that is not valid
		for url := range ticket.Segments() {
			if name, ours := s.o.Sink.Name(url); ours {
				objects[name] = true
			}
		}
	}
	return objects
}

// Ours returns whose segment an object is; false if it is none of this installation.
func (s *Spool) Ours(l sink.Listed) (Name, bool) {
	n, ok := Parse(l.Object)
	return n, ok && s.o.Tag != "" && n.Tag == s.o.Tag
}

// Prefix returns what the URLs of the segments with a name begin with, up to the number. The tag is that of the spool.
func (s *Spool) Prefix(n Name) string {
	n.Tag = s.o.Tag
	return strings.TrimSuffix(s.o.Sink.URL(numbered(n.prefix(), 0)), "0"+ending)
}

// URL returns the first word of the ticket of the segments with a name.
func (s *Spool) URL(n Name) string { return escaped.Replace(s.Prefix(n)) }
