package files_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink/dir"
)

// killed are Acts of a process that ends in the middle of a page.
type killed struct{ files.Acts }

func (k killed) Store(ctx context.Context, acts []audit.Act) error {
	return errors.Join(k.Acts.Store(ctx, acts[:len(acts)/2]), errors.New("killed"))
}

// TestActsAreStoredOnce: by processes at the same time, after one that was killed, when the stream has lost its old
// entries, and when a Redis with another clock has none of them.
func TestActsAreStoredOnce(t *testing.T) {
	t.Parallel()
	g := newEmptied(t, report.Records{Audit: day}, "")
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: testmain.Name(t) + ":", Hash: "h-", Replies: "r:"}})
	process := func(wrap func(files.Acts) files.Acts) (store func(context.Context) error) {
		records, err := record.New(g.db, report.Records{Audit: day})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(engine.Options{Redis: client, Scripts: s, Records: records, Consumer: "acts"})
		if err != nil {
			t.Fatal(err)
		}
		place, err := dir.New(g.root)
		if err != nil {
			t.Fatal(err)
		}
		f, err := files.New(e, files.Options{Sink: place, Formats: kinds.Standard().Formats, Acts: wrap(records.Acts())})
		if err != nil {
			t.Fatal(err)
		}
		return f.Keeper()
	}
	act := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			fields := audit.Act{Who: "ann", By: audit.API, Act: "cancel", On: "1", N: 1, Answer: audit.Done}.Fields()
			if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: s.Keys.Audit, ID: id, Values: fields}).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	stored := func(when string, want int) {
		t.Helper()
		var n int
		if err := g.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fanfold_audit").Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d acts, want %d, %v", when, n, want, err)
		}
	}
	one := process(func(a files.Acts) files.Acts { return a })
	if err := one(t.Context()); err != nil {
		t.Fatal("an empty stream: ", err)
	}
	first := time.Now().Add(-time.Minute).UnixMilli()
	var ids []string
	for i := range 2500 {
		ids = append(ids, fmt.Sprint(first+int64(i/2), "-", i%2))
	}
	act(fmt.Sprint(time.Now().Add(-2*day).UnixMilli(), "-0")) // too old
	act(ids...)
	if err := process(func(a files.Acts) files.Acts { return killed{a} })(t.Context()); err == nil {
		t.Error("it was not killed")
	}
	stored("killed", 499) // half a page, with the one that is too old
	var group errgroup.Group
	for range 3 {
		group.Go(func() error {
			return process(func(a files.Acts) files.Acts { return a })(t.Context())
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	stored("together", 2500)
	if err := client.XTrimMaxLen(t.Context(), s.Keys.Audit, 7).Err(); err != nil {
		t.Fatal(err)
	}
	act("*")
	again := func(when string, want int) {
		t.Helper()
		if err := one(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored(when, want)
	}
	again("trimmed", 2501)
	client.Del(t.Context(), s.Keys.Audit)
	again("lost", 2501)
	act(fmt.Sprint(first, "-7"), fmt.Sprint(first+600, "-7"))
	again("another clock", 2503)
	// That clock passes the newest stored entry between two copies.
	act(fmt.Sprint(first+700, "-7"), fmt.Sprint(time.Now().UnixMilli()+1000, "-7"))
	again("the clock has caught up", 2505)
	act(fmt.Sprint(time.Now().UnixMilli()+1001, "-7"))
	again("after that", 2506)
}
