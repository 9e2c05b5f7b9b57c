package inspect

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/scripts"
)

// actsTime bounds the read of a page of older acts.
const actsTime = 3 * time.Second

// actsPage is the number of acts of such a page.
const actsPage = 500

// Acts are what people did: the newest are in the audit stream, older ones in the database.
type Acts struct{ o *Options }

// ActFilter selects acts. An empty field selects all.
type ActFilter struct {
	Who, Act string    // patterns, such as *@host
	On       string    // exactly this object
	Since    time.Time // not older
	Before   string    // the entry of an act: older ones only
}

// List lists the acts that match, the newest first, up to a limit (0: all). It asks the database only for those that
// are older than the stream. If that fails, it returns an error and the acts of the stream, which are not nil.
func (l Acts) List(ctx context.Context, f ActFilter, limit int) ([]audit.Act, error) {
	s, oldest := l.o.Scripts.First(), f.Before
	list, err := collect(each(s.Entries.NewestPages(ctx, s.Keys.Audit, f.Before), func(e scripts.Entry) audit.Act {
		oldest = e.ID
		return audit.Parse(e.ID, scripts.EntryTime(e.ID), e.Fields)
	}), f.selects, limit)
	if err != nil || limit > 0 && len(list) == limit || oldest != "" && scripts.EntryTime(oldest).Before(f.Since) {
		return list, err
	}
	older, err := collect(l.older(ctx, f, oldest), f.selects, limit-len(list))
	if err != nil {
		return list, fmt.Errorf("older acts: %w", err)
	}
	return append(list, older...), nil
}

// older iterates over pages of the acts in the database before an entry, the newest first. They may not match
// patterns of the filter.
func (l Acts) older(ctx context.Context, f ActFilter, before string) iter.Seq2[[]audit.Act, error] {
	exact := func(pattern string) string {
		if strings.ContainsAny(pattern, `*?[\`) {
			return ""
		}
		return pattern
	}
	stored := record.ActFilter{Who: exact(f.Who), Act: exact(f.Act), On: f.On, Since: f.Since, Before: before}
	return func(yield func([]audit.Act, error) bool) {
		for {
			short, cancel := context.WithTimeout(ctx, actsTime)
			page, err := l.o.Records.Acts().List(short, stored, actsPage)
			cancel()
			if !yield(page, err) || err != nil || len(page) < actsPage {
				return
			}
			stored.Before = page[len(page)-1].Entry
		}
	}
}

func (f ActFilter) selects(a audit.Act) bool {
	matches := func(pattern, text string) bool {
		ok, err := path.Match(pattern, text)
		return pattern == "" || ok && err == nil
	}
	return matches(f.Who, a.Who) && matches(f.Act, a.Act) && (f.On == "" || f.On == a.On) && !a.When.Before(f.Since)
}
