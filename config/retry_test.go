package config

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// edit replaces a text that the file must have once.
func edit(t *testing.T, file, was, is string) string {
	t.Helper()
	if n := strings.Count(file, was); n != 1 {
		t.Fatalf("%q is there %d times", was, n)
	}
	return strings.Replace(file, was, is, 1)
}

// TestRetryOfAListener is the report's where it says nothing else, which is the
// default where that says nothing else.
func TestRetryOfAListener(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		report, listener         string
		wantReport, wantListener report.Retry
	}{
		{"", "", report.DefaultRetry, report.DefaultRetry},
		{"retry: ", "retry: ", report.DefaultRetry, report.DefaultRetry},
		{"retry: {}", "retry: {}", report.DefaultRetry, report.DefaultRetry},
		{"retry: 0", "", report.Retry{Retries: 0, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour}, report.Retry{Retries: 0, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour}},
		{"retry: 0", "retry: 100", report.Retry{Retries: 0, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour}, report.Retry{Retries: 100, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour}},
		{"", "retry: 0", report.DefaultRetry, report.Retry{Retries: 0, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour}},
		{"retry: {retries: 2}", "retry: {delay: 1s}", report.Retry{Retries: 2, Delay: time.Minute, Exponential: false, MaxDelay: time.Hour}, report.Retry{Retries: 2, Delay: time.Second, Exponential: false, MaxDelay: time.Hour}},
		{"retry: {delay: 2h}", "", report.Retry{Retries: 6, Delay: 2 * time.Hour, Exponential: false, MaxDelay: time.Hour}, report.Retry{Retries: 6, Delay: 2 * time.Hour, Exponential: false, MaxDelay: time.Hour}},
		{"retry: {delay: 1s, backoff: exponential}", "retry: 2", report.Retry{Retries: 6, Delay: time.Second, Exponential: true, MaxDelay: time.Hour}, report.Retry{Retries: 2, Delay: time.Second, Exponential: true, MaxDelay: time.Hour}},
		{"retry: {delay: 1s, backoff: exponential}", "retry: {max_delay: 1s}", report.Retry{Retries: 6, Delay: time.Second, Exponential: true, MaxDelay: time.Hour}, report.Retry{Retries: 6, Delay: time.Second, Exponential: true, MaxDelay: time.Second}},
		{"retry: {backoff: exponential, max_delay: 1m}", "retry: {backoff: fixed}", report.Retry{Retries: 6, Delay: time.Minute, Exponential: true, MaxDelay: time.Minute}, report.Retry{Retries: 6, Delay: time.Minute, Exponential: false, MaxDelay: time.Minute}},
		{"retry: {retries: 1, delay: 2ms}", "retry: {backoff: exponential, max_delay: 3ms}", report.Retry{Retries: 1, Delay: 2 * time.Millisecond, Exponential: false, MaxDelay: time.Hour}, report.Retry{Retries: 1, Delay: 2 * time.Millisecond, Exponential: true, MaxDelay: 3 * time.Millisecond}},
	} {
		file := edit(t, base, "timeout: 2h", c.report)
		if c.listener != "" {
			file = edit(t, file, "shop.users: {database", "shop.users: {"+c.listener+", database")
		}
		config, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds)
		if err != nil {
			t.Errorf("%s, %s: %v", c.report, c.listener, err)
			continue
		}
		r := config.Reports["orders"]
		users, _, _ := r.Listener("shop.users")
		orders, _, _ := r.Listener("shop.orders")
		if r.Retry != c.wantReport || users.Retry != c.wantListener || orders.Retry != c.wantReport {
			t.Errorf("%s, %s: report %+v, listener %+v, another %+v", c.report, c.listener, r.Retry, users.Retry, orders.Retry)
		}
	}
}
