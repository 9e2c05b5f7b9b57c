package why

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/inspect"
)

// Of says what a job waits for. If a server does not answer, the verdict says so; it is no error.
func Of(ctx context.Context, in *inspect.Inspector, id string) (Verdict, error) {
	g := &gatherer{Inspector: in}
	v := diagnose(g.gather(ctx, id))
	if v.Kind == KindLost || v.Kind == KindNotPushed {
		// The entry may have moved during the search: search once more.
		v = diagnose(g.gather(ctx, id))
	}
	return v, ctx.Err()
}

const (
	// concurrency is the maximum number of concurrent verdicts.
	concurrency = 16
	// batchSize is how many jobs share one set of answers. More jobs would make these too old.
	batchSize = 200
)

// All returns the verdicts on ids, in their order. It reads the records, sources and streams once for
// every 200 ids.
func All(ctx context.Context, in *inspect.Inspector, ids []string) ([]Verdict, error) {
	verdicts := make([]Verdict, 0, len(ids))
	for some := range slices.Chunk(ids, batchSize) {
		g := &gatherer{Inspector: in, batch: &batch{ids: some}}
		found := make([]Verdict, len(some))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(concurrency)
		for i, id := range some {
			group.Go(func() (err error) {
				v := diagnose(g.gather(ctx, id))
				if v.Kind == KindLost || v.Kind == KindNotPushed {
					v, err = Of(ctx, in, id) // it may have moved since a stream was read
				}
				found[i] = v
				return cmp.Or(err, ctx.Err())
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		verdicts = append(verdicts, found...)
	}
	return verdicts, nil
}

// OfKind returns the verdicts on ids that have a kind, up to a limit.
func OfKind(ctx context.Context, in *inspect.Inspector, ids []string, kind Kind, limit int) ([]Verdict, error) {
	var found []Verdict
	for some := range slices.Chunk(ids, batchSize) {
		verdicts, err := All(ctx, in, some)
		if err != nil {
			return nil, err
		}
		for _, v := range verdicts {
			if v.Kind == kind && len(found) < limit {
				found = append(found, v)
			}
		}
		if len(found) == limit {
			break
		}
	}
	return found, nil
}

// batch has the answers that several jobs share.
type batch struct {
	ids   []string
	asked sync.Map // name of the question → func() (its type, error)
}

// once asks a question, or returns the answer that another job of the batch got.
func once[T any](g *gatherer, what string, ask func() (T, error)) (T, error) {
	if g.batch == nil {
		return ask()
	}
	asked, _ := g.batch.asked.LoadOrStore(what, sync.OnceValues(ask))
	return asked.(func() (T, error))()
}
