package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

const (
	auditEach = 100             // maximum number of objects of one act that get an entry each
	auditText = 300             // maximum number of characters of a text of an entry
	auditTime = 3 * time.Second // to append an entry, also when the time of the act is over
)

// act is a change that gets an entry in the audit stream when it ends.
type act struct {
	in   *inspect.Inspector
	by   *audit.Actor
	name string
	on   []string
	more string
}

// begin begins an act on objects. It returns audit.ErrNoActor, before any change, if the context does not say who
// acts.
func begin(ctx context.Context, in *inspect.Inspector, name string, on ...string) (*act, error) {
	by, err := audit.Of(ctx)
	if err == nil {
		by.Note()
	}
	return &act{in: in, by: by, name: name, on: on}, err
}

// end appends the entries of an act that ended with *err.
func (a *act) end(ctx context.Context, err *error) {
	one := audit.Act{Act: a.name, N: 1, Detail: a.more, Answer: audit.Done}
	if *err != nil {
		one.Reason, one.Answer = (*err).Error(), audit.Failed
		if Refused(*err) {
			one.Answer = audit.Refused
		}
	}
	on := a.on
	if len(on) > auditEach || len(on) == 0 {
		if one.N = len(on); len(on) > 0 {
			one.Detail = fmt.Sprintf("%s … %s %s", on[0], on[len(on)-1], one.Detail)
		}
		on = []string{""}
	}
	for _, one.On = range on {
		if !note(ctx, a.in, a.by, one) {
			return
		}
	}
}

// endGroup appends the entries of an act that ended with *err, after it had changed these objects of a group.
func (a *act) endGroup(ctx context.Context, changed []string, err *error) {
	if a.on = changed; len(changed) > 0 || *err == nil {
		a.end(ctx, new(error))
	}
	if *err != nil {
		a.on = nil
		a.end(ctx, err)
	}
}

// Audit appends acts that no other method makes.
type Audit struct{ in *inspect.Inspector }

// Note appends an act, such as a request that was refused before it became a change. If Redis does not take it, it
// is logged.
func (a Audit) Note(ctx context.Context, by *audit.Actor, one audit.Act) { note(ctx, a.in, by, one) }

// note appends one act, or logs it; then it returns false.
func note(ctx context.Context, in *inspect.Inspector, by *audit.Actor, one audit.Act) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	one.Who, one.By, one.From = by.Who, by.By, by.From
	for _, text := range []*string{&one.On, &one.Reason, &one.Detail} {
		*text = report.ShortenTo(*text, auditText)
	}
	s := in.Scripts.First()
	err := s.Streams.Append(ctx, s.Keys.Audit, scripts.AuditCap, one.Fields()...)
	if err != nil && by.Log != nil {
		by.Log.Warn("an act is not in the audit stream", "user", one.Who, "by", one.By, "from", one.From,
			"act", one.Act, "on", one.On, "n", one.N, "answer", one.Answer, "reason", one.Reason, "err", err)
	}
	return err == nil
}
