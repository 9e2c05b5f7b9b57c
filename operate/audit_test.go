package operate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// reads are the methods that change nothing.
var reads = []string{"Jobs.Report", "Jobs.Unserved", "Jobs.Check", "Jobs.Orphans", "Delayed.Check", "Delayed.Find", "Quarantine.Find",
	"Timers.Check", "Timers.Exists", "Pauses.Check", "Limits.Check"}

// TestEveryMethodIsAnAct: a method that is not among the reads refuses a context that does not say who acts.
func TestEveryMethodIsAnAct(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rooms := reflect.ValueOf(*b.Operator)
	acts := 0
	for i := range rooms.NumField() {
		room, of := rooms.Type().Field(i).Name, rooms.Field(i)
		for j := range of.NumMethod() {
			name := room + "." + of.Type().Method(j).Name
			if slices.Contains(reads, name) || room == "Audit" {
				continue
			}
			acts++
			method := of.Method(j)
			var args []reflect.Value
			for k := range method.Type().NumIn() {
				if in := method.Type().In(k); in == reflect.TypeFor[context.Context]() {
					args = append(args, reflect.ValueOf(t.Context()))
				} else if !method.Type().IsVariadic() || k < method.Type().NumIn()-1 {
					args = append(args, reflect.Zero(in))
				}
			}
			results := method.Call(args)
			if err, _ := results[len(results)-1].Interface().(error); !errors.Is(err, audit.ErrNoActor) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if acts < 15 {
		t.Errorf("%d acts", acts)
	}
}

// acts returns the entries of the audit stream, without those who made them.
func (b *bench) acts() (all []string) {
	b.Helper()
	for _, m := range b.redis.XRange(b.Context(), b.all.First().Keys.Audit, "-", "+").Val() {
		v := m.Values
		if v["who"] != "ann" || v["by"] != "test" || v["from"] != "192.0.2.1" {
			b.Errorf("%v", v)
		}
		all = append(all, fmt.Sprintf("%v %v %v: %v %v", v["act"], v["on"], v["n"], v["answer"], v["detail"]))
	}
	return all
}

// TestActs: every act has an entry when it ends, with its answer and the reason of a refusal.
func TestActs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := acting(t)
	id := b.insert("slow")
	_, err := b.Jobs.Cancel(ctx, id, "not needed")
	b.ok(err)
	_, err = b.Jobs.Cancel(ctx, "404", strings.Repeat("ü", 1000))
	if err == nil {
		t.Error("an unknown record was cancelled")
	}
	_, err = b.Jobs.Retry(ctx, id, 0)
	b.ok(err)
	_, err = b.Pauses.Pause(ctx, "report/slow", Terms{})
	b.ok(err)
	b.ok(b.Delayed.Add(ctx, []string{"7", "8"}, time.Unix(1e9, 0)))
	many := make([]string, auditEach+1)
	for i := range many {
		many[i] = fmt.Sprint(1000 + i)
	}
	b.ok(b.Jobs.Push(ctx, many...))
	dead := []string{b.insert("slow"), b.insert("slow")}
	b.kill(dead...)
	_, err = b.Dead.Discard(ctx, Sweep{})
	b.ok(err)
	_, err = b.Dead.Discard(ctx, Sweep{DryRun: true})
	b.ok(err)
	b.ok(b.Timers.Set(ctx, "beep-1", time.Unix(1e9, 0)))
	want := []string{
		"cancel " + id + " 1: done not needed",
		"cancel 404 1: refused " + strings.Repeat("ü", auditText-1) + "…",
		"retry " + id + " 1: done ",
		"pause report/slow 1: done ",
		"delay 7 1: done until 2001-09-09T01:46:40Z",
		"delay 8 1: done until 2001-09-09T01:46:40Z",
		"submit  101: done 1000 … 1100 ",
		"discard " + dead[0] + " 1: done all dead jobs",
		"discard " + dead[1] + " 1: done all dead jobs",
		"timer set beep-1 1: done to 2001-09-09T01:46:40Z",
	}
	got := b.acts()
	slices.Sort(got[len(got)-3 : len(got)-1]) // of two partitions
	if !slices.Equal(got, want) {
		t.Errorf("%s\nnot:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestActsAreBounded: the stream keeps about scripts.AuditCap entries.
func TestActsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range scripts.AuditCap + 500 {
		b.Audit.Note(t.Context(), &audit.Actor{}, audit.Act{Act: "cancel", On: "1", Answer: audit.Done})
	}
	if n := b.redis.XLen(t.Context(), b.all.First().Keys.Audit).Val(); n > scripts.AuditCap+200 || n < scripts.AuditCap {
		t.Errorf("%d entries", n)
	}
}

// TestActOfASweepThatFails: what was done before the error is counted.
func TestActOfASweepThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.kill(b.insert("slow"))
	b.exec("RENAME TABLE file_download_record TO gone")
	if _, err := b.Dead.Retry(acting(t), Sweep{Of: report.Shorten("slow")}); err == nil {
		t.Fatal("no error")
	}
	if got := b.acts(); !slices.Equal(got, []string{"retry  0: failed slow"}) {
		t.Errorf("%q", got)
	}
}
