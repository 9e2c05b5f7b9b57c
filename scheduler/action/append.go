package action

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Append appends an entry to a stream that services read. The entry has Fields, the timer's name as
// timer, and its due time in milliseconds as due.
var Append = Kind{
	Action: kind.Action{
		Name: "append", Doc: "Appends an entry to a stream of yours", Form: "append: {stream: …}",
		Fields: func() any { return new(AppendFields) }, Check: checkAppend,
	},
	Act: appendEntry,
}

// AppendFields are the own fields of Append.
type AppendFields struct {
	// Key of the stream
	Stream string `yaml:"stream" form:"stream" need:"Name the stream that services read"`
	// Fields of the entry, by name, as texts
	Fields map[string]report.Template `yaml:"fields" credentials:""`
}

func checkAppend(t *kind.Timer) {
	own := t.Own.(*AppendFields)
	t.CheckTemplates("fields", own.Fields)
	for _, name := range []string{"timer", "due"} {
		if _, taken := own.Fields[name]; taken {
			t.Get("fields").Problem("Fanfold sets "+name+" itself", "Rename the field")
		}
	}
	if t.Has("stream") && (strings.HasPrefix(strings.TrimPrefix(own.Stream, "{"), t.Keys.Prefix) ||
		strings.HasPrefix(own.Stream, t.Keys.Hash)) {
		t.Get("stream").Problem("this name is reserved for keys of Fanfold",
			"Choose a name that does not begin with redis_keys.prefix or redis_keys.hash")
	}
}

// appended is the approximate cap of a stream to which timers append.
const appended = 100_000

func appendEntry(ctx context.Context, t Tools, f Firing) ([]string, error) {
	own := f.Own.(*AppendFields)
	fields := []string{"timer", f.Name, "due", strconv.FormatInt(f.Due, 10)}
	for _, name := range slices.Sorted(maps.Keys(own.Fields)) {
		fields = append(fields, name, own.Fields[name].Fill(f.Values, nil))
	}
	err := t.Scripts.Streams.Append(ctx, own.Stream, appended, fields...)
	if errors.Is(err, scripts.ErrBroken) {
		return nil, Permanent(err)
	}
	return nil, Outage(err) // the stream may be on another server: an action that waits for it uses no slot
}
