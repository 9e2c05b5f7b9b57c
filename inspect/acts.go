package inspect

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/scripts"
)

// actsTime bounds the read of the acts in the database.
const actsTime = 3 * time.Second

// actsPage is the number of acts of a page of them.
const actsPage = 500

// Acts are what people did: the newest are in the audit stream, and after some seconds in the database, too.
type Acts struct{ o *Options }

// ActFilter selects acts. An empty field selects all.
type ActFilter struct {
	Who, Act string    // patterns, such as *@host
	On       []string  // exactly one of these objects
	Since    time.Time // not older
	Before   string    // the entry of an act: older ones only
}

// ActsOn returns the objects of acts that a person means with an id or a name: that of a source, a listener or a
// report, too. Of an empty text, it returns none.
func ActsOn(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name, scripts.PausedSource(name), scripts.PausedListener(name), scripts.PausedReport(name)}
}

// List lists the acts that match, the newest first, up to a limit (0: all): those of the stream and those of the
// database. If the database cannot be read, it returns an error and the acts of the stream, which are not nil.
func (l Acts) List(ctx context.Context, f ActFilter, limit int) ([]audit.Act, error) {
	s := l.o.Scripts.First()
	list, err := collect(each(s.Entries.NewestPages(ctx, s.Keys.Audit, f.Before), func(e scripts.Entry) audit.Act {
		return audit.Parse(e.ID, scripts.EntryTime(e.ID), e.Fields)
	}), f.selects, limit)
	if err != nil {
		return nil, err
	}
	stored, err := collect(l.stored(ctx, f), f.selects, limit)
	if err != nil {
		return list, fmt.Errorf("acts in the database: %w", err)
	}
	list = append(list, stored...)
	slices.SortStableFunc(list, newerFirst)
	list = slices.CompactFunc(list, func(a, b audit.Act) bool { return a.Entry == b.Entry })
	if limit > 0 {
		list = list[:min(limit, len(list))]
	}
	return list, nil
}

// newerFirst compares the entries of two acts.
func newerFirst(a, b audit.Act) int {
	number := func(entry string) int {
		_, seq, _ := strings.Cut(entry, "-")
		n, _ := strconv.Atoi(seq)
		return n
	}
	return cmp.Or(b.When.Compare(a.When), cmp.Compare(number(b.Entry), number(a.Entry)))
}

// stored iterates over pages of the acts in the database, the newest first. They may not match patterns of the filter.
func (l Acts) stored(ctx context.Context, f ActFilter) iter.Seq2[[]audit.Act, error] {
	exact := func(pattern string) string {
		if strings.ContainsAny(pattern, `*?[\`) {
			return ""
		}
		return pattern
	}
	next := record.ActFilter{Who: exact(f.Who), Act: exact(f.Act), On: f.On, Since: f.Since, Before: f.Before}
	return func(yield func([]audit.Act, error) bool) {
		short, cancel := context.WithTimeout(ctx, actsTime)
		defer cancel()
		for {
			page, err := l.o.Records.Acts().List(short, next, actsPage)
			if !yield(page, err) || err != nil || len(page) < actsPage {
				return
			}
			next.Before = page[len(page)-1].Entry
		}
	}
}

func (f ActFilter) selects(a audit.Act) bool {
	matches := func(pattern, text string) bool {
		ok, err := path.Match(pattern, text)
		return pattern == "" || ok && err == nil
	}
	return matches(f.Who, a.Who) && matches(f.Act, a.Act) &&
		(len(f.On) == 0 || slices.Contains(f.On, a.On)) && !a.When.Before(f.Since)
}
