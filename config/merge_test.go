package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dialect"
)

// mergeBase is base with merge keys where it repeats itself, which changes nothing.
var mergeBase = strings.NewReplacer(
	"shop.orders: {database: main,", "shop.orders: &first {<<: {database: other}, database: main,",
	"shop.users: {database: main,", "shop.users: {<<: *first,",
	"shop.items: {database: main,", "shop.items: {<<: [{database: main}, *first, {database: other, timeout: 1s}], timeout: ,",
).Replace(base)

// TestMergeKeys: own fields win, then those of an earlier merge, and a merged mapping may itself merge.
func TestMergeKeys(t *testing.T) {
	t.Parallel()
	definitions := map[string]bool{}
	for _, file := range []string{base, mergeBase} {
		c, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds)
		if err != nil {
			t.Fatal(err)
		}
		definitions[fmt.Sprintf("%s %v", c.Reports["orders"].Hash(), c.Reports["orders"].StagesTime())] = true
	}
	if len(definitions) != 1 {
		t.Errorf("merge keys change the report: %v", definitions)
	}
	const users = "shop.users: {database: main,"
	for merged, want := range map[string]string{
		"{<<: {timeout: 1s}}":                             "1s 1",
		"{timeout: 2s, <<: {timeout: 1s}}":                "2s 1",
		"{<<: {timeout: 1s}, timeout: 2s}":                "2s 1",
		"{<<: [{timeout: 3s}, {timeout: 1s}]}":            "3s 1",
		"{<<: [{<<: {timeout: 4s}}, {timeout: 1s}]}":      "4s 1",
		"{<<: {<<: {timeout: 4s}, timeout: 5s}}":          "5s 1",
		"{timeout: null, <<: {timeout: 1s}}":              "5m0s 1",
		"{<<: []}":                                        "5m0s 1",
		"{<<: {retry: {retries: 7}}, retry: {delay: 1s}}": "5m0s 1",
		"{<<: {retry: 7}}":                                "5m0s 7",
		"{<<: {retry: {<<: {retries: 8}}}}":               "5m0s 8",
	} {
		file := strings.Replace(base, users, "shop.users: {"+strings.TrimSuffix(strings.TrimPrefix(merged, "{"), "}")+", database: main,", 1)
		file = strings.Replace(file, "timeout: 2h", "timeout: 2h\n    retry: 1", 1)
		c, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds)
		if err != nil {
			t.Errorf("%s: %v", merged, err)
			continue
		}
		l, _, _ := c.Reports["orders"].Listener("shop.users")
		if got := fmt.Sprintf("%v %d", l.Timeout, l.Retry.Retries); got != want {
			t.Errorf("%s: %s, want %s", merged, got, want)
		}
	}
}

// TestMergesAreBounded: mappings that merge one another twice, again and again, take no more time than once.
func TestMergesAreBounded(t *testing.T) {
	t.Parallel()
	merged := "&a0 {timeout: 1s}"
	for i := range 40 {
		merged = fmt.Sprintf("&a%d {<<: [%s, *a%d]}", i+1, merged, i)
	}
	file := strings.Replace(base, "shop.items: {", "shop.items: {<<: "+merged+", ", 1)
	start := time.Now()
	c, err := Load("f.yaml", []byte(file), testEnvironment(), TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	l, _, _ := c.Reports["orders"].Listener("shop.items")
	if took := time.Since(start); l.Timeout != time.Second || dialect.QueryOf(l).Text == "" || took > 10*time.Second {
		t.Errorf("%v, a timeout of %v", took, l.Timeout)
	}
}
