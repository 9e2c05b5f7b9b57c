package listeners

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// The types of replies. docs/guides/external-listeners.md is the contract.
const (
	replyRows   = "rows"   // a chunk
	replyDone   = "done"   // the number of chunks
	replyFailed = "failed" // the try has failed
	replyAlive  = "alive"  // the worker continues
)

// Maximum of one entry of rows.
const (
	maxReplyRows  = dataset.MaxChunkRows
	maxReplyBytes = 1 << 20
)

// maxSegmentURL is the maximum length of the URL of a segment.
const maxSegmentURL = 4 << 10

// reply is one entry of the stream of replies.
type reply struct {
	scripts.Message
	Listener  string
	Worker    string // unique for each take
	Entry     string // of the task's stream
	Consumer  string // which has read that
	Type      string
	Number    int64  // of a chunk, from 0; for done: how many there were
	Rows      []byte // JSON, see dataset.Rows
	Segment   string // URL of a segment in the spool, instead of Rows
	Error     string
	Permanent bool
}

var (
	replyWord   = regexp.MustCompile(`^[!-~]{1,200}$`)
	replyNumber = regexp.MustCompile(`^[0-9]{1,9}$`)
)

// errNobody is the error of a reply that does not name its worker or task.
var errNobody = errors.New("not a reply")

// parseReply reads an entry. If the error is not errNobody, the fields up to Consumer are valid.
func parseReply(fields map[string]string) (reply, error) {
	attempt, err := strconv.ParseInt(fields["attempt"], 10, 64)
	r := reply{
		Message: scripts.Message{ID: fields["id"], Attempt: attempt}, Listener: fields["listener"],
		Worker: fields["worker"],
		Entry:  fields["entry"], Consumer: fields["consumer"], Type: fields["type"],
	}
	for _, field := range []struct {
		name string
		ok   bool
	}{
		{"id", report.ValidID(r.ID)},
		{"attempt", err == nil && attempt > 0},
		{"listener", report.ValidListener(r.Listener)},
		{"worker", replyWord.MatchString(r.Worker)},
		{"entry", isEntry(r.Entry)},
		{"consumer", replyWord.MatchString(r.Consumer)},
	} {
		if !field.ok {
			return r, fmt.Errorf("%w: field %s is %q", errNobody, field.name, report.ShortenTo(fields[field.name], 100))
		}
	}
	return r, r.parseType(fields)
}

// isEntry reports whether Redis accepts a text as the id of an entry. Otherwise the reply would be
// retried without end.
func isEntry(id string) bool {
	ms, number, ok := strings.Cut(id, "-")
	_, err := strconv.ParseUint(ms, 10, 64)
	_, wrong := strconv.ParseUint(number, 10, 64)
	return ok && err == nil && wrong == nil && len(id) <= maxEntry
}

// maxEntry is the length of the longest possible id of an entry.
const maxEntry = len("18446744073709551615-18446744073709551615")

// parseType reads the fields of a reply's type.
func (r *reply) parseType(fields map[string]string) error {
	number := func(field string) (err error) {
		if !replyNumber.MatchString(fields[field]) {
			return fmt.Errorf("field %s of type %s is %q, not a whole number", field, r.Type,
				report.ShortenTo(fields[field], 100))
		}
		r.Number, err = strconv.ParseInt(fields[field], 10, 64)
		return err
	}
	switch r.Type {
	case replyAlive:
		return nil
	case replyDone:
		return number("chunks")
	case replyFailed:
		r.Error = report.ShortenTo(fields["error"], 1000)
		if r.Error == "" {
			r.Error = "the worker says failed and gives no error"
		}
		switch fields["permanent"] {
		case "", "0":
		case "1":
			r.Permanent = true
		default:
			return fmt.Errorf("field permanent of type failed is %q, not 1", report.ShortenTo(fields["permanent"], 100))
		}
		return nil
	case replyRows:
		r.Segment = fields["segment"]
		if n := len(r.Segment); n > maxSegmentURL || n > 0 && fields["rows"] != "" {
			return fmt.Errorf("type rows has a field segment of %d bytes and a field rows of %d bytes: send one of them, and "+
				"a URL of at most %d bytes", n, len(fields["rows"]), maxSegmentURL)
		}
		if n := len(fields["rows"]); n > maxReplyBytes {
			return fmt.Errorf("rows of %d bytes in one entry, more than %d: send them in several entries", n,
				maxReplyBytes)
		}
		r.Rows = []byte(fields["rows"])
		return number("number")
	}
	return fmt.Errorf("field type is %q, not rows, done, failed or alive", report.ShortenTo(r.Type, 100))
}
