package op

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestPool checks that tasks end in the order in which they began, and that the first error in
// that order is returned.
func TestPool(t *testing.T) {
	t.Parallel()
	var errs [100]error
	for i := range errs {
		errs[i] = fmt.Errorf("work %d", i)
	}
	for _, fails := range []int{0, 1, 50, len(errs)} {
		c := newPool(func() *int { return new(int) })
		var ended []int
		began := 0
		for i := range errs {
			began++
			if !c.do(func(w *int, turn func() error) error {
				*w++ // a worker does one piece of work at a time
				for range rand.IntN(100) {
					runtime.Gosched()
				}
				if i > fails && i%2 == 0 {
					return errs[i] // before its turn
				}
				if err := turn(); err != nil {
					return err
				}
				if ended = append(ended, i); i >= fails {
					return errs[i]
				}
				return nil
			}) {
				break
			}
		}
		err := errors.Join(c.wait(), c.wait())
		var want error
		if fails < len(errs) {
			want = errs[fails]
		}
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%v, want %v", err, want)
		}
		if len(ended) != min(fails+1, len(errs)) || ended[len(ended)-1] != len(ended)-1 {
			t.Errorf("%d fails: %v have ended", fails, ended)
		}
		if limit := fails + 2*(runtime.GOMAXPROCS(0)+1); began > limit {
			t.Errorf("%d have begun, want at most %d", began, limit)
		}
	}
}
