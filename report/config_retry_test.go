package report

import (
	"strings"
	"testing"
	"time"
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
		wantReport, wantListener Retry
	}{
		{"", "", DefaultRetry, DefaultRetry},
		{"retry: ", "retry: ", DefaultRetry, DefaultRetry},
		{"retry: {}", "retry: {}", DefaultRetry, DefaultRetry},
		{"retry: 0", "", Retry{0, time.Minute, false, time.Hour}, Retry{0, time.Minute, false, time.Hour}},
		{"retry: 0", "retry: 100", Retry{0, time.Minute, false, time.Hour}, Retry{100, time.Minute, false, time.Hour}},
		{"", "retry: 0", DefaultRetry, Retry{0, time.Minute, false, time.Hour}},
		{"retry: {retries: 2}", "retry: {delay: 1s}", Retry{2, time.Minute, false, time.Hour}, Retry{2, time.Second, false, time.Hour}},
		{"retry: {delay: 2h}", "", Retry{6, 2 * time.Hour, false, time.Hour}, Retry{6, 2 * time.Hour, false, time.Hour}},
		{"retry: {delay: 1s, backoff: exponential}", "retry: 2", Retry{6, time.Second, true, time.Hour}, Retry{2, time.Second, true, time.Hour}},
		{"retry: {delay: 1s, backoff: exponential}", "retry: {max_delay: 1s}", Retry{6, time.Second, true, time.Hour}, Retry{6, time.Second, true, time.Second}},
		{"retry: {backoff: exponential, max_delay: 1m}", "retry: {backoff: fixed}", Retry{6, time.Minute, true, time.Minute}, Retry{6, time.Minute, false, time.Minute}},
		{"retry: {retries: 1, delay: 2ms}", "retry: {backoff: exponential, max_delay: 3ms}", Retry{1, 2 * time.Millisecond, false, time.Hour}, Retry{1, 2 * time.Millisecond, true, 3 * time.Millisecond}},
	} {
		file := edit(t, base, "timeout: 2h", c.report)
		if c.listener != "" {
			file = edit(t, file, "{name: shop.users, database", "{name: shop.users, "+c.listener+", database")
		}
		config, err := Load("f.yaml", []byte(file), testEnvironment())
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
