package listeners

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestExternalOrders: rows come in reverse, in no order, and the end first, to one
// process and to several. Nothing is tried again, and nothing is left in the data.
func TestExternalOrders(t *testing.T) {
	t.Parallel()
	const n = 30
	random := rand.New(rand.NewPCG(1, 2))
	for name, order := range map[string]func(i int) []int{
		"reverse": func(int) []int {
			var order []int
			for i := range n + 1 {
				order = append(order, n-i)
			}
			return order
		},
		"random": func(int) []int { return random.Perm(n + 1) },
	} {
		for _, processes := range []int{1, 3} {
			order := order(n)
			t.Run(fmt.Sprintf("%s/%d", name, processes), func(t *testing.T) {
				t.Parallel()
				o := setupOutside(t, processes, nil)
				w := o.reads("w1")
				var c, d []string
				for i := range n {
					c, d = append(c, fmt.Sprintf("[%d]", i)), append(d, fmt.Sprintf(`["r%d"]`, i))
				}
				for _, i := range order {
					if i == n {
						w.says("done", "chunks", fmt.Sprint(n))
					} else {
						w.says("rows", "number", fmt.Sprint(i), "rows", fmt.Sprintf(`[[%d,"r%d"]]`, i, i))
					}
				}
				o.wantData(c, d)
				if all := append(o.refusals(), o.quarantined()...); len(all) > 0 {
					t.Errorf("%q", all)
				}
				if state, err := o.s.Jobs.Read(t.Context(), "1"); err != nil || state.Tasks["a"].Rows != n || state.Tasks["a"].Tries != 1 || state.Tasks["a"].Error != "" {
					t.Errorf("%+v %v", state, err)
				}
				for _, field := range o.client.HKeys(t.Context(), o.s.Keys.Job("1")).Val() {
					if strings.Contains(field, ".#") {
						t.Errorf("%s is left in the data", field)
					}
				}
			})
		}
	}
}

// TestExternalTooFarBeforeItsTurn: such rows wait in the stream, and take nobody's try.
func TestExternalTooFarBeforeItsTurn(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, nil)
	w := o.reads("w1")
	w.says("rows", "number", fmt.Sprint(scripts.MaxMissing), "rows", `[[1,"a"]]`)
	first := o.client.XRange(t.Context(), o.s.Keys.Reply, "-", "+").Val()
	o.eventually("it goes round", func() bool {
		left := o.client.XRange(t.Context(), o.s.Keys.Reply, "-", "+").Val()
		return len(first) == 1 && len(left) == 1 && left[0].ID > first[0].ID
	})
	if _, err := o.client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range scripts.MaxMissing {
			p.XAdd(t.Context(), w.reply("rows", "number", fmt.Sprint(i), "rows", `[[1,"a"]]`))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	w.says("done", "chunks", fmt.Sprint(scripts.MaxMissing+1))
	o.until("done", func(s *job.State) bool {
		return s.Status == job.StatusReady && s.Tasks["a"].Rows == scripts.MaxMissing+1
	})
}

// TestExternalRepliesOfTwoServices: what one service says in a heap, in no order and over
// three processes, is applied once each, and a second service behind it is done although
// the heap has no end yet: nothing of it waits in the stream.
func TestExternalRepliesOfTwoServices(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 0, nil)
	o.group()
	w := o.reads("w1")
	start(t, o.s, "2", "{}", plan(o.definition()))
	var other string
	o.eventually("its entry is read", func() bool {
		streams := o.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{
			Group: scripts.Group, Consumer: "service", Streams: []string{o.s.Keys.Task("a"), ">"}, Block: -1,
		}).Val()
		if len(streams) > 0 {
			other = streams[0].Messages[0].ID
		}
		return other != ""
	})
	const n = 1000
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(n) {
		if i > 0 {
			w.says("rows", "number", fmt.Sprint(i), "rows", fmt.Sprintf(`[[%d,"r"]]`, i))
		}
	}
	second := spoken{o, "w2", other}
	second.says("rows", "id", "2", "number", "0", "rows", `[[1,"a"]]`)
	second.says("done", "id", "2", "chunks", "1")
	for i := range 3 {
		o.process(fmt.Sprint("p", i), o.definition())
	}
	o.eventually("the second service is done", func() bool {
		state, err := o.s.Jobs.Read(t.Context(), "2")
		return err == nil && state.Tasks["a"].Done
	})
	o.heard() // all of the heap is, although its first rows are missing
	w.says("rows", "number", "0", "rows", `[[0,"r"]]`)
	w.says("done", "chunks", fmt.Sprint(n))
	o.until("done", func(s *job.State) bool { return s.Status == job.StatusReady && s.Tasks["a"].Rows == n })
	info := o.client.XInfoStream(t.Context(), o.s.Keys.Reply).Val()
	if said := int64(n + 3); info.EntriesAdded != said {
		t.Errorf("%d replies were appended, and %d were said: some went round", info.EntriesAdded, said)
	}
}
