package operate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/scripts"
)

// Quarantine changes quarantined entries.
type Quarantine struct{ in *inspect.Inspector }

var entryName = regexp.MustCompile(`^([0-9]+:)?[0-9]{1,20}-[0-9]{1,20}$`)

// Find reads entries by name. It returns them sorted, without duplicates.
func (q Quarantine) Find(ctx context.Context, names []string) ([]inspect.Quarantined, error) {
	if err := q.check(names); err != nil {
		return nil, err
	}
	var found []inspect.Quarantined
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		s, id := q.of(name)
		entry, ok, err := q.in.Quarantine.Entry(ctx, s, id)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, fault.NotFound.New("%s is not in %s", name, s.Keys.Quarantined)
		}
		found = append(found, entry)
	}
	return found, nil
}

// Requeue puts an entry back into the key that it came from, and returns a text that names the key. A
// member of a sorted set becomes due at the given time. If the entry would be quarantined again, the
// error matches scripts.ErrNotRequeued.
func (q Quarantine) Requeue(ctx context.Context, entry inspect.Quarantined,
	due time.Time) (to string, err error) {
	act, err := begin(ctx, q.in, "quarantine requeue", entry.Entry)
	if err != nil {
		return "", err
	}
	act.more = "of " + entry.Stream
	defer act.end(ctx, &err)
	v, err := q.in.Quarantine.Details(ctx, entry)
	if err != nil {
		return "", err
	}
	if v.Again != "" {
		return "", fmt.Errorf("%w: %s", scripts.ErrNotRequeued, v.Again)
	}
	s, id := q.of(entry.Entry)
	from := scripts.QuarantineEntry{Entry: id, Stream: entry.Stream, Fields: entry.Fields}
	key, err := q.in.Scripts.Requeue(ctx, s, from, due)
	return "is in " + key + " again", err
}

// Remove removes entries by name, and returns how many of them existed.
func (q Quarantine) Remove(ctx context.Context, names []string) (removed int, err error) {
	act, err := begin(ctx, q.in, "quarantine rm", names...)
	if err != nil {
		return 0, err
	}
	defer act.end(ctx, &err)
	if err := q.check(names); err != nil {
		return 0, err
	}
	entries := map[*scripts.Scripts][]string{}
	for _, name := range names {
		s, id := q.of(name)
		entries[s] = append(entries[s], id)
	}
	for s, ids := range entries {
		for page := range slices.Chunk(ids, pageSize) {
			n, err := s.Streams.Remove(ctx, s.Keys.Quarantined, page...)
			if removed += int(n); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// check checks the names of entries.
func (q Quarantine) check(names []string) error {
	for _, name := range names {
		if s, _ := q.of(name); !entryName.MatchString(name) || s == nil {
			return fault.Input.New("%.80q is not an entry: fanfold quarantine ls lists entries, such as 1700000000000-0", name)
		}
	}
	return nil
}

// of returns the partition and the id of an entry; nil: the partition does not exist.
func (q Quarantine) of(name string) (*scripts.Scripts, string) {
	if partition, id, ok := strings.Cut(name, ":"); ok {
		if n, err := strconv.Atoi(partition); err == nil && n >= 0 && n < len(q.in.Scripts) {
			return q.in.Scripts[n], id
		}
		return nil, id
	}
	return q.in.Scripts.First(), name
}
