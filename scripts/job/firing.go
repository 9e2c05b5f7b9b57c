package job

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// EndPrefix begins the names of firings that report the end of jobs. No pattern of a timer has it.
const EndPrefix = "@finished/"

// EndOf is the name of the firing that reports the end of an attempt.
func EndOf(id string, attempt int64) string {
	return EndPrefix + id + "/" + strconv.FormatInt(attempt, 10)
}

// ParseEnd takes a name apart that EndOf has made.
func ParseEnd(name string) (id string, attempt int64, ok bool) {
	rest, ok := strings.CutPrefix(name, EndPrefix)
	id, text, two := strings.Cut(rest, "/")
	attempt, err := strconv.ParseInt(text, 10, 64)
	return id, attempt, ok && two && err == nil && attempt >= 0 && report.ValidID(id)
}

// The kinds of receipts.
const (
	ReceiptAccepted = "accepted" // an attempt has started
	ReceiptEnded    = "ended"    // an attempt has ended, or will not start
	ReceiptRefused  = "refused"  // a push has started nothing
)

// Receipt is a message to a service about its push, encoded in the name of a firing:
//
//	@finished/<id>/<attempt>/accepted/<started>/<deadline>/<report>/<stream>/<push>
//	@finished/<id>/<attempt>/ended/<started>/<deadline>/<report>/<stream>/<push>
//	@finished/<id>/0/refused/<reason>///<stream>/<push>
//
// Start, deadline and report are empty in the second one if no job has run.
type Receipt struct {
	ID       string
	Attempt  string
	Kind     string
	Started  string // ms
	Deadline string // ms
	Report   string
	Reason   string // of a refusal
	Stream   string // of the service
	Push     string // the entry that asked for receipts
}

// maxRefusal is the maximum length of the reason of a refusal, in bytes.
const maxRefusal = 200

// EndedWithoutJob is the middle of a receipt's name, between the id and the stream.
func EndedWithoutJob(attempt int64) string {
	return strconv.FormatInt(attempt, 10) + "/" + ReceiptEnded + "///"
}

// Refused is the middle of the name of a refusal.
func Refused(why string) string {
	return "0/" + ReceiptRefused + "/" + url.QueryEscape(strings.ToValidUTF8(why[:min(len(why), maxRefusal)], "")) +
		"//"
}

// ParseReceipt takes the name of a receipt apart; false: it is none.
func ParseReceipt(name string) (r Receipt, ok bool) {
	rest, ok := strings.CutPrefix(name, EndPrefix)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 8 || !report.ValidID(parts[0]) || !streamForm.MatchString(parts[6]) {
		return r, false
	}
	r = Receipt{
		ID: parts[0], Attempt: parts[1], Kind: parts[2], Started: parts[3], Deadline: parts[4], Report: parts[5],
		Stream: parts[6], Push: parts[7],
	}
	switch r.Kind {
	case ReceiptAccepted, ReceiptEnded:
		return r, true
	case ReceiptRefused:
		why, err := url.QueryUnescape(r.Started)
		r.Started, r.Reason = "", why
		return r, err == nil
	}
	return r, false
}

// Entry is an entry of the stream of a service. Its name is unique in that stream.
type Entry struct {
	Name   string
	Fields []any // and values
}

// Accepted is the entry that reports the start of the attempt; false if none has started.
func (r Receipt) Accepted() (Entry, bool) {
	return Entry{r.ID + "-" + r.Attempt + "-" + r.Started, []any{
		"event", ReceiptAccepted, "id", r.ID, "attempt", r.Attempt, "report", r.Report, "deadline", r.Deadline,
	}}, r.Started != ""
}

// Final is the entry that answers the push, with these fields and values.
func (r Receipt) Final(fields ...any) Entry { return Entry{r.ID + "-" + r.Push, fields} }

// StreamForm is the form of the names of streams to which receipts can go. If it has a tag of
// Redis Cluster, that is in braces.
const StreamForm = `[0-9A-Za-z:._-]*(\{[0-9A-Za-z:._-]+\}[0-9A-Za-z:._-]*)?`

var streamForm = regexp.MustCompile(`^` + StreamForm + `$`)

// ValidReplyTo tells whether a push may name a stream in reply_to: 1 to 200 characters of StreamForm that begin
// with redis_keys.replies, and no key of Fanfold. The keys are those of any partition.
func ValidReplyTo(stream string, of report.Keys) bool {
	allowed := of.Replies != "" && strings.HasPrefix(strings.TrimPrefix(stream, "{"), of.Replies)
	if !allowed || len(stream) > 200 || !streamForm.MatchString(stream) {
		return false
	}
	hash, shared := strings.TrimPrefix(of.Hash, of.Prefix), withoutPartition(of.Prefix)
	return !strings.HasPrefix(strings.TrimPrefix(stream, "{"), shared) && !strings.HasPrefix(stream, hash) &&
		!strings.HasSuffix(stream, known(shared))
}

// KnownReceipts is the key of the names of entries that were appended to a stream, in the same
// slot of a Redis Cluster. It is the same for every partition, whose prefix this is: a firing can move to another.
func KnownReceipts(stream, prefix string) string {
	if !strings.Contains(stream, "{") {
		stream = "{" + stream + "}"
	}
	return stream + known(withoutPartition(prefix))
}

func known(prefix string) string { return ":" + prefix + "receipts" }

// withoutPartition is the prefix that the keys of all partitions share: {fanfold:3}: is that of partition 3.
func withoutPartition(prefix string) string {
	if tag, ok := strings.CutSuffix(strings.TrimPrefix(prefix, "{"), "}:"); ok {
		return strings.TrimRight(tag, "0123456789")
	}
	return prefix
}

// IsReceipt tells whether a text is the name of a receipt.
func IsReceipt(name string) bool {
	_, ok := ParseReceipt(name)
	return ok
}
