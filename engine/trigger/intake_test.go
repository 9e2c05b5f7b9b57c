package trigger

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// TestIDsOfAPartitionThatIsAway: an id that was pushed into the wrong partition waits in the delayed
// set, and the others of its batch are handled.
func TestIDsOfAPartitionThatIsAway(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	defer client.Close()
	away := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, ContextTimeoutEnabled: true})
	defer away.Close()
	name := testmain.Name(t)
	here := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + "0:", Hash: name + "0-"}})
	there := scripts.New(scripts.Options{Redis: away, Keys: report.Keys{Prefix: name + "1:", Hash: name + "1-"}})
	all := scripts.Partitions{here, there}
	var ours, theirs string
	for i := 0; ours == "" || theirs == ""; i++ {
		if id := strconv.Itoa(i); all.Of(id) == here {
			ours = id
		} else {
			theirs = id
		}
	}
	e := newTrigger(engine.Options{Scripts: here, Partitions: all})
	items := []*item{
		{Entry: step.Entry{Entry: scripts.Entry{ID: "1-0", Fields: map[string]string{"id": theirs}}}},
		{Entry: step.Entry{Entry: scripts.Entry{ID: "2-0", Fields: map[string]string{"id": ours}}}},
	}
	began := time.Now()
	intake{e.Engine}.sendToOwn(t.Context(), items)
	if !items[0].done || items[0].result.Kind != step.Void || items[1].done {
		t.Errorf("%+v %+v", items[0], items[1])
	}
	due := client.ZScore(t.Context(), here.Keys.Delayed, theirs).Val()
	if at := time.UnixMilli(int64(due)); at.Before(began.Add(homeAgain/2)) || at.After(time.Now().Add(2*homeAgain)) {
		t.Errorf("it is due at %s, and it is %s", at, began)
	}
}
