package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/fanfold/fanfold/inspect"
)

// quarantine is the content of the page of quarantined entries.
type quarantine struct {
	Table table
	More  int // entries that are not listed
}

func (l listPages) quarantine(_ context.Context, r *http.Request, s *sample) (string, any, error) {
	v := quarantine{Table: quarantineTable(s.At).of(r, slices.Clone(s.Quarantined))}
	v.More = max(0, int(s.Figures.Of("quarantined", ""))-len(s.Quarantined))
	return "Quarantine", v, nil
}

// quarantineTable is the table of quarantined entries.
func quarantineTable(now time.Time) listing[inspect.Quarantined] {
	type entry = inspect.Quarantined
	return listing[entry]{
		name: "quarantine", label: "Quarantined entries", path: "/quarantine",
		key: func(e entry) string { return e.Entry },
		columns: []column[entry]{
			{key: "entry", title: "Entry", class: "number", cell: text(func(e entry) string { return e.Entry })},
			whenColumn("when", "When", now, func(e entry) *time.Time { return &e.At }),
			{
				key: "from", title: "Came from", order: by(func(e entry) string { return e.Stream }),
				cell: func(e entry) cell { return cell{Text: e.Stream, Soft: e.Origin} },
			},
			{
				key: "reason", title: "Reason", class: "reason", order: by(func(e entry) string { return e.Reason }),
				cell: text(func(e entry) string { return e.Reason }),
			},
			{
				key: "fields", title: "Fields", class: "reason",
				cell: func(e entry) cell { return cell{Text: e.Fields, Code: true} },
			},
			{key: "change", title: "Change", operator: true, cell: func(e entry) cell {
				this := field{"entry", e.Entry}
				return cell{Acts: []act{
					{Label: "Requeue", Of: e.Entry, To: "/quarantine", Fields: []field{this, {"action", "requeue"}}},
					{Label: "Remove …", Of: e.Entry, To: "/quarantine", Asks: true, Fields: []field{this}},
				}}
			}},
		},
	}
}

// due is the content of the page of delayed ids and timers.
type due struct {
	Strip  strip
	Later  table
	Timers table
}

func (l listPages) due(_ context.Context, r *http.Request, s *sample) (string, any, error) {
	v := due{
		Later:  delayedTable(s.At).of(r, slices.Clone(s.Delayed)),
		Timers: timerTable(s.At).of(r, slices.Clone(s.Timers)),
	}
	for _, id := range s.Delayed {
		if id.Due != nil {
			v.Strip.add(s.At, *id.Due)
		}
	}
	for _, t := range s.Timers {
		if t.Due != nil {
			v.Strip.add(s.At, *t.Due)
		}
	}
	return "Due later", v, nil
}

// timerTable is the table of timers.
func timerTable(now time.Time) listing[inspect.Timer] {
	type timer = inspect.Timer
	name := func(t timer) string { return t.Name }
	return listing[timer]{
		name: "timers", label: "Timers", path: "/due", prefix: "timers.", key: name, columns: []column[timer]{
			{key: "name", title: "Timer", class: "name", order: by(name), cell: text(name)},
			{
				key: "state", title: "State", order: by(func(t timer) string { return t.State }),
				cell: func(t timer) cell {
					if t.State == "set" {
						return cell{Text: t.State, Chip: "done"}
					}
					return cell{Text: t.State, Chip: "retry"}
				},
			},
			whenColumn("due", "Due", now, func(t timer) *time.Time { return t.Due }),
			{key: "repeats", title: "Repeats", cell: text(func(t timer) string { return t.Every + t.Cron })},
			{
				key: "definition", title: "Definition", order: by(func(t timer) string { return t.Definition }),
				cell: text(func(t timer) string { return t.Definition }),
			},
			{key: "change", title: "Change", operator: true, cell: timerActs},
		},
	}
}

// timerActs are the changes of a timer.
func timerActs(t inspect.Timer) (c cell) {
	add := func(label, action string) {
		fields := []field{{"name", t.Name}, {"action", action}}
		c.Acts = append(c.Acts, act{Label: label, Of: t.Name, To: "/due/timers", Fields: fields})
	}
	if t.Definition != "" {
		add("Run now", "fire")
	}
	if t.State == "paused" {
		add("Resume", "resume")
	} else {
		add("Pause", "pause")
	}
	if t.Report == "" {
		fields := []field{{"name", t.Name}}
		c.Acts = append(c.Acts, act{Label: "Remove …", Of: t.Name, To: "/due/timers", Asks: true, Fields: fields})
	}
	return c
}

// delayedTable is the table of delayed ids.
func delayedTable(now time.Time) listing[inspect.Delayed] {
	type delayed = inspect.Delayed
	member := func(d delayed) string { return d.Member }
	return listing[delayed]{
		name: "later", label: "Delayed ids", path: "/due", key: member, columns: []column[delayed]{
			{key: "id", title: "Job", order: byID(member), cell: func(d delayed) cell {
				if d.ID == "" {
					return cell{Text: d.Member}
				}
				return jobLink(d.ID)
			}},
			whenColumn("due", "Due", now, func(d delayed) *time.Time { return d.Due }),
			{key: "note", title: "Note", cell: text(func(d delayed) string { return cmp.Or(d.Bad, d.What) })},
			{key: "change", title: "Change", operator: true, cell: func(d delayed) cell {
				this := field{"member", d.Member}
				return cell{Acts: []act{
					{Label: "Run now", Of: d.Member, To: "/due/delayed", Fields: []field{this, {"action", "run"}}},
					{Label: "Remove …", Of: d.Member, To: "/due/delayed", Asks: true, Fields: []field{this}},
				}}
			}},
		},
	}
}
