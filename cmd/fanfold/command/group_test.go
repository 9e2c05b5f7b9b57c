package command

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// TestGroups: cancel and delay take the jobs of a report or with a parameter instead of ids, and say what changed.
func TestGroups(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	id := s.Records.Insert("slow", `{"customer": "7"}`)
	other := s.Records.Insert("slow", `{"customer": "8"}`)
	if out, code := s.fanfold("submit", id, "--in", "1h"); code != exitOK {
		t.Fatal(out)
	}
	for _, c := range []struct {
		code int
		args string
		says string
	}{
		{exitUsage, "cancel", "give ids, or --report"},
		{exitUsage, "cancel 1 --report slow", "not both"},
		{exitUsage, "cancel 1 --dry-run", "require --report"},
		{exitUsage, "cancel 1 --waiting", "require --report"},
		{exitUsage, "cancel --report slw", "Did you mean \"slow\"?"},
		{exitUsage, "cancel --param customer", "NAME=VALUE"},
		{exitUsage, "cancel --param customer=7 --param customer=8", "given twice"},
		{exitUsage, "delay by", "DURATION is missing"},
		{exitUsage, "delay by soon 1", "write a duration"},
		{exitUsage, "delay by 1h", "give ids"},
		{exitUsage, "delay by 1h a.b", "not an id"},
		{exitFailure, "delay by 1h " + other, "refused"},
		{exitOK, "delay by 30m --param customer=7 --dry-run", "would be delayed by 30m"},
		{exitOK, "delay by 30m " + id, "delayed by 30m"},
		{exitOK, "delay by 30m --param customer=7 -o json", `"done": 1`},
		{exitOK, "delay ls", "in 2h"},
		{exitOK, "delay by 1h --report slow", "unchanged: ID is in no queue"},
		{exitOK, "cancel --param customer=7 --waiting --dry-run", "would be cancelled"},
		{exitOK, "cancel --param customer=7 --waiting --reason late", "cancelled"},
	} {
		out, code := s.fanfold(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%s: %d %s", c.args, code, out)
		}
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Cancelled || v.Error != "late" {
		t.Errorf("%+v", v)
	}
	if v, err := s.Inspect.Jobs.Record(t.Context(), other); err != nil || v.Status != report.Pending {
		t.Errorf("%+v %v", v, err)
	}
}
