package step

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	retry := report.Retry{Retries: 2, Delay: time.Minute}
	requeue := func(a scripts.Requeue) Verdict { return Verdict{Act: Requeue, Again: a} }
	for name, c := range map[string]struct {
		result Result
		try    int64
		retry  report.Retry
		want   Verdict
	}{
		"done":              {Result{}, 1, retry, Verdict{}},
		"nothing to do":     {Result{Kind: Void}, 1, retry, Verdict{Act: Acknowledge}},
		"moved":             {Result{Kind: Moved}, 1, retry, Verdict{}},
		"first try":         {Result{Kind: Retry, Err: away, Blame: job.BlameSource}, 1, retry, requeue(scripts.Requeue{Delay: time.Minute, Counts: true, Error: "away", Blame: job.BlameSource})},
		"last but one":      {Result{Kind: Retry, Err: away}, 2, retry, requeue(scripts.Requeue{Delay: time.Minute, Counts: true, Error: "away"})},
		"last try":          {Result{Kind: Retry, Err: away, Blame: job.BlameSink}, 3, retry, Verdict{Act: GiveUp, Err: errors.New("away (try 3 of 3)"), Blame: job.BlameSink}},
		"only try":          {Result{Kind: Retry, Err: away}, 1, report.Retry{}, Verdict{Act: GiveUp, Err: away}},
		"outage":            {Result{Kind: Outage, Err: away, Blame: job.BlameRedis}, 9, retry, requeue(scripts.Requeue{Delay: retry.Outage(), Error: "away", Blame: job.BlameRedis})},
		"outage with pause": {Result{Kind: Outage, Err: away, After: time.Hour}, 1, retry, requeue(scripts.Requeue{Delay: time.Hour, Error: "away"})},
		"waiting":           {Result{Kind: Waiting, Err: away, After: time.Second}, 9, retry, requeue(scripts.Requeue{Delay: time.Second, Waits: true, Error: "away"})},
		"waiting for no time": {
			Result{Kind: Waiting, Err: away}, 1, retry, requeue(scripts.Requeue{Delay: minWait, Waits: true, Error: "away"}),
		},
		"permanent": {Result{Kind: Permanent, Err: away, Blame: job.BlameReport}, 1, retry, Verdict{Act: GiveUp, Err: away, Blame: job.BlameReport}},
		"unusable":  {Result{Kind: Unusable, Err: away}, 1, retry, Verdict{Act: Quarantine, Err: away}},
		"elsewhere": {Result{Kind: Elsewhere, Err: away}, 1, retry, Verdict{Act: Leave, Err: away}},
		"stopping":  {Result{Kind: Stopping}, 1, retry, requeue(scripts.Requeue{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := cmp.Comparer(func(a, b error) bool { return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error() })
			if diff := cmp.Diff(c.want, Decide(c.result, c.try, c.retry), text, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if r, ok := Exhausted(4, retry, "worker x fell silent"); !ok || r.Kind != Permanent || r.Err.Error() != "given up after 3 tries: worker x fell silent" {
		t.Errorf("%+v %v", r, ok)
	}
	if _, ok := Exhausted(3, retry, ""); ok {
		t.Error("the last try is not made")
	}
}
