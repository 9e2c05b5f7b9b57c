package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// receipt appends a firing of a receipt, whose name has this middle.
func (b *timersBundle) receipt(id, middle, stream, push string) {
	b.t.Helper()
	name := job.EndPrefix + id + "/" + middle + "/" + stream + "/" + push
	if err := b.client.XAdd(b.t.Context(), &redis.XAddArgs{Stream: b.s.Keys.Finished, Values: []any{"name", name, "due", time.Now().UnixMilli(), "late", 0}}).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// sent is what a service got, as event-id-attempt-status.
func (b *timersBundle) sent(stream string) (all []string) {
	for _, e := range b.client.XRange(b.t.Context(), stream, "-", "+").Val() {
		all = append(all, strings.ReplaceAll(fmt.Sprint(e.Values["event"], "-", e.Values["id"], "-", e.Values["attempt"], "-", e.Values["status"]), "<nil>", ""))
	}
	return all
}

// TestAReceiptComesOnce, whatever the order of its firings is, and accepted first.
func TestAReceiptComesOnce(t *testing.T) {
	t.Parallel()
	b, e := telling(t, "", Ended{ID: "1", Report: "r", Attempt: 2, Status: report.Success, File: "file:///x.csv"})
	stream := "replies-" + b.prefix[:len(b.prefix)-1]
	ended, accepted := "2/ended/10/20/r", "2/accepted/10/20/r"
	b.receipt("1", ended, stream, "5-0")
	_, stop := b.run("c1", true)
	b.until("both are sent", func() bool { return len(b.sent(stream)) == 2 && b.over() })
	b.receipt("1", accepted, stream, "5-0")
	b.receipt("1", ended, stream, "5-0")
	b.receipt("1", job.Refused("the record is SUCCESS"), stream, "5-0") // its push came again after a crash
	b.until("nothing more is to be told", b.over)
	stop()
	if got := b.sent(stream); !slices.Equal(got, []string{"accepted-1-2-", "finished-1-2-SUCCESS"}) {
		t.Errorf("%q", got)
	}
	known := job.KnownReceipts(stream, b.prefix)
	if n, ttl := b.client.ZCard(t.Context(), known).Val(), b.client.TTL(t.Context(), known).Val(); n != 2 || ttl <= 0 {
		t.Errorf("%d are known for %v", n, ttl)
	}
	// Another attempt, another push.
	e.set(Ended{ID: "1", Report: "r", Attempt: 3, Status: report.Failed, Error: "x"})
	b.receipt("1", "3/ended/11/21/r", stream, "6-0")
	b.run("c2", true)
	b.until("they are sent", func() bool { return len(b.sent(stream)) == 4 && b.over() })
	if got := b.sent(stream)[2:]; !slices.Equal(got, []string{"accepted-1-3-", "finished-1-3-FAILED"}) {
		t.Errorf("%q", got)
	}
}

// TestAReceiptWaitsForTheRecord: until it is final, also where it runs again, and while it cannot be read.
func TestAReceiptWaitsForTheRecord(t *testing.T) {
	t.Parallel()
	b, e := telling(t, "", Ended{ID: "1", Report: "r", Attempt: 2, Status: report.Pending})
	stream := "replies-" + b.prefix[:len(b.prefix)-1]
	e.broken = 1
	b.receipt("1", job.EndedWithoutJob(1), stream, "5-0")
	b.receipt("gone", job.EndedWithoutJob(1), stream, "6-0")
	b.run("c1", true)
	b.until("one is sent, and one waits", func() bool {
		return len(b.sent(stream)) == 1 && b.client.ZCard(t.Context(), b.s.Keys.WaitingFired).Val() == 1
	})
	e.set(Ended{ID: "1", Report: "r", Attempt: 2, Status: report.Cancelled})
	b.until("it is sent", func() bool { return len(b.sent(stream)) == 2 && b.over() })
	if got := b.sent(stream); !slices.Equal(got, []string{"finished-gone-1-DELETED", "finished-1-2-CANCELLED"}) {
		t.Errorf("%q", got)
	}
}

// TestAReceiptThatCannotBeSent is quarantined.
func TestAReceiptThatCannotBeSent(t *testing.T) {
	t.Parallel()
	b, _ := telling(t, "", Ended{ID: "1", Report: "r", Attempt: 1, Status: report.Failed})
	stream := "replies-" + b.prefix[:len(b.prefix)-1]
	b.client.Set(t.Context(), stream, "x", 0)
	b.receipt("1", "1/ended/10/20/r", stream, "5-0")
	b.run("c1", true)
	b.until("it is quarantined", func() bool { return b.client.XLen(t.Context(), b.s.Keys.Quarantined).Val() == 1 && b.over() })
	entry := b.client.XRange(t.Context(), b.s.Keys.Quarantined, "-", "+").Val()[0].Values
	if reason := fmt.Sprint(entry["reason"]); !strings.Contains(reason, "receipt of "+stream) {
		t.Errorf("%+v", entry)
	}
	if n := b.client.Exists(t.Context(), job.KnownReceipts(stream, b.prefix)).Val(); n != 0 {
		t.Error("it counts as sent")
	}
}

// TestAReceiptGoesToNoKeyOfFanfold, also where a timer of its name asks for that.
func TestAReceiptGoesToNoKeyOfFanfold(t *testing.T) {
	t.Parallel()
	b, _ := telling(t, "", Ended{ID: "1", Report: "r", Attempt: 1, Status: report.Failed})
	b.receipt("1", "1/ended///", b.s.Keys.Jobs, "5-0")
	b.run("c1", true)
	b.until("it is quarantined", func() bool { return b.client.XLen(t.Context(), b.s.Keys.Quarantined).Val() == 1 && b.over() })
	if n := b.client.XLen(t.Context(), b.s.Keys.Jobs).Val(); n != 0 {
		t.Errorf("%d ids are pushed", n)
	}
}
