package browser

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/redis/go-redis/v9"
)

// TestThroughputAndSources: the pages of what is counted, as pictures and as tables, with times of the browser's zone.
func TestThroughputAndSources(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	now := time.Now()
	pipe := s.redis.Pipeline()
	number := 0
	event := func(at time.Time, values ...any) {
		number++
		pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: "fanfold:events", ID: fmt.Sprintf("%d-%d", at.UnixMilli(), number), Values: values})
	}
	for i := range 280 {
		at := now.Add(time.Duration(i-290) * 5 * time.Minute)
		wave := 0.5 + 0.5*math.Sin(float64(i)/30)
		for k := range 1 + int(6*wave) {
			status, ms, took := "SUCCESS", 3000+int(20000*wave)+k*900, 40+int(2500*wave*wave)*(k+1)
			switch {
			case i%23 == 0 && k == 0:
				status = "FAILED"
				event(at, "event", "failing", "by", "plt_pay.payments")
			case i%31 == 0 && k < 2:
				status = "PARTIAL"
			case i%47 == 0 && k == 1:
				status = "CANCELLED"
			}
			event(at, "event", "started", "report", "tagged-withdrawals", "waited", 100+int(8000*wave)*k)
			event(at, "event", "finished", "report", "tagged-withdrawals", "status", status, "ms", ms,
				"tasks", fmt.Sprintf("plt_fund.vs_withdraw:100:1:%d,plt_user.tags:9:1:%d", took, took/9))
		}
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.fanfold("pause", "listener", "plt_pay.payments")
	oncall := s.tab(t, browser, "oncall")
	call(oncall, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	oncall.goTo("/throughput")
	oncall.sees("Wait from the push to the start")
	oncall.sees("pause listener/plt_pay.payments")
	oncall.sees("Times are in Asia/")
	// A tick of a whole hour UTC is half past one there.
	if odd := eval[[]string](oncall, `[...document.querySelectorAll('svg .time')].map(e => e.textContent).filter(t => !/^\d\d:30$/.test(t))`); len(odd) > 0 {
		t.Errorf("ticks %q", odd)
	}
	// The page may be older than what is counted.
	point := `document.querySelectorAll('.graph .column')[20].dispatchEvent(new PointerEvent('pointerover', {bubbles: true})),
		document.querySelector('output.values').textContent.includes('wait p50') && document.querySelectorAll('.column.at').length === 3`
	for deadline := time.Now().Add(patience); !eval[bool](oncall, point); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the values of a time are not shown, or it is not marked in 3 pictures: %s", oncall.text())
		}
	}
	oncall.check("throughput")
	oncall.goTo("/throughput?report=payments&range=7+d")
	oncall.sees("No job has started or ended in this time.")
	oncall.goTo("/throughput?range=30+d&as=table&sort=-failed")
	oncall.sees("Run time, median")
	oncall.check("throughput-table")

	oncall.goTo("/sources")
	oncall.sees("reachable")
	oncall.sees("p95")
	if n := eval[int](oncall, `document.querySelectorAll('.heat .column').length`); n < 250 {
		t.Errorf("%d cells", n)
	}
	oncall.check("sources")
	oncall.click(".views a[href*='value=failed']")
	oncall.sees("up to 50 %")
	oncall.click(".other")
	oncall.sees("Failed share")
	oncall.check("sources-table")
}
