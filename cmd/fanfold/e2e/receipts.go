package e2e

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
)

// Receipts are what services hear of their pushes.
type Receipts struct {
	testing.TB
	p *process.Process
}

// Push pushes ids for a service that requests receipts.
func (r Receipts) Push(stream string, ids ...string) {
	r.Helper()
	for _, id := range ids {
		if err := r.p.Redis.XAdd(r.Context(), &redis.XAddArgs{
			Stream: r.p.Partitions.Of(id).Keys.Jobs, Values: []string{"id", id, "reply_to", stream},
		}).Err(); err != nil {
			r.Fatal(err)
		}
	}
}

// Of returns the receipts that a service has received.
func (r Receipts) Of(stream string) (all []map[string]any) {
	r.Helper()
	for _, e := range r.p.Redis.XRange(r.Context(), stream, "-", "+").Val() {
		all = append(all, e.Values)
	}
	return all
}

// Wait waits for the final receipts of this number of pushes and until no more are pending, and returns
// all receipts.
func (r Receipts) Wait(stream string, finals int) []map[string]any {
	r.Helper()
	Eventually(r, fmt.Sprint(finals, " final receipts in ", stream), func() bool {
		n := 0
		for _, one := range r.Of(stream) {
			if one["event"] != "accepted" {
				n++
			}
		}
		return n >= finals
	})
	Eventually(r, "no receipt is pending", func() bool {
		var left int64
		for _, p := range r.p.Partitions {
			for _, key := range []string{p.Keys.Finished, p.Keys.Jobs} {
				left += r.p.Redis.XLen(r.Context(), key).Val()
			}
		}
		return left == 0
	})
	return r.Of(stream)
}
