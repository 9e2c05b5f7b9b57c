package listeners

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// What an external worker says of its task; docs/guides/external-listeners.md is its contract.
const (
	replyRows   = "rows"   // a chunk
	replyDone   = "done"   // how many there were
	replyFailed = "failed" // a try has failed
	replyAlive  = "alive"  // it goes on
)

// The most that one entry of rows may have.
const (
	maxReplyRows  = dataset.MaxChunkRows
	maxReplyBytes = 1 << 20
)

// reply is one entry of the stream of replies.
type reply struct {
	ID, Listener string
	Attempt      int64
	Worker       string // unique for each take
	Entry        string // of the task's stream
	Consumer     string // which has read that
	Type         string
	Number       int64  // of a chunk, from 0; for done: how many there were
	Rows         []byte // JSON, see dataset.Rows
	Error        string
	Permanent    bool
}

var (
	replyWord   = regexp.MustCompile(`^[!-~]{1,200}$`)
	replyNumber = regexp.MustCompile(`^[0-9]{1,9}$`)
)

// errNobody is the error of a reply that does not say which worker it is of: its task
// cannot be told either.
var errNobody = errors.New("listeners: not a reply")

// parseReply reads an entry. Where the error is not errNobody, the fields up to
// Consumer can be used.
func parseReply(fields map[string]string) (reply, error) {
	r := reply{
		ID: fields["id"], Listener: fields["listener"], Worker: fields["worker"], Entry: fields["entry"],
		Consumer: fields["consumer"], Type: fields["type"],
	}
	attempt, err := strconv.ParseInt(fields["attempt"], 10, 64)
	r.Attempt = attempt
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
			return r, fmt.Errorf("%w: field %s is %q", errNobody, field.name, cut(fields[field.name], 100))
		}
	}
	return r, r.parseType(fields)
}

// isEntry tells whether Redis takes a text for the id of an entry: one that it refuses
// would be asked for again and again.
func isEntry(id string) bool {
	ms, number, ok := strings.Cut(id, "-")
	_, err := strconv.ParseUint(ms, 10, 64)
	_, wrong := strconv.ParseUint(number, 10, 64)
	return ok && err == nil && wrong == nil && len(id) <= maxEntry
}

// maxEntry is how long that of the last entry is that there can be.
const maxEntry = len("18446744073709551615-18446744073709551615")

// parseType reads the fields of a reply's type.
func (r *reply) parseType(fields map[string]string) error {
	number := func(field string) (err error) {
		if !replyNumber.MatchString(fields[field]) {
			return fmt.Errorf("field %s of type %s is %q, not a whole number", field, r.Type, cut(fields[field], 100))
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
		r.Error = cut(strings.ToValidUTF8(fields["error"], "\uFFFD"), 1000)
		if r.Error == "" {
			r.Error = "the worker says failed and gives no error"
		}
		switch fields["permanent"] {
		case "", "0":
		case "1":
			r.Permanent = true
		default:
			return fmt.Errorf("field permanent of type failed is %q, not 1", cut(fields["permanent"], 100))
		}
		return nil
	case replyRows:
		if n := len(fields["rows"]); n > maxReplyBytes {
			return fmt.Errorf("rows of %d bytes in one entry, more than %d: send them in several", n, maxReplyBytes)
		}
		r.Rows = []byte(fields["rows"])
		return number("number")
	}
	return fmt.Errorf("field type is %q, not rows, done, failed or alive", cut(r.Type, 100))
}

// cut shortens a text to so many bytes, and keeps it UTF-8.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
