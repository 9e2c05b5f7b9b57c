package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts"
)

// checkPauses lists the pauses, because one may have been forgotten.
func checkPauses(ctx context.Context, d *doctor) Finding {
	list, err := d.in.Pauses.List(ctx)
	if err == nil && len(list) > 0 {
		var all []string
		for _, p := range list {
			text := d.in.Pauses.Text(p)
			if p.Waiting > 0 {
				text += ", waiting: " + words.Count(p.Waiting, "id")
			}
			all = append(all, text)
		}
		err = errors.New(strings.Join(all, "; "))
	}
	return newFinding("pauses", Warn, "nothing is paused", err,
		"fanfold resume source NAME, listener NAME or report NAME ends a pause")
}

// checkLimits lists the limits that people have set, because one may have been forgotten.
func checkLimits(ctx context.Context, d *doctor) Finding {
	list, err := d.in.Limits.List(ctx)
	if err == nil && len(list) > 0 {
		var all []string
		for _, one := range list {
			all = append(all, d.in.Limits.Text(one))
		}
		err = errors.New(strings.Join(all, "; "))
	}
	return newFinding("limits", Warn, "those of the configuration hold", err,
		"fanfold limit source NAME reset, or report NAME reset, ends a limit")
}

// checkDefinitions counts the running jobs whose definition no process has.
func checkDefinitions(ctx context.Context, d *doctor) Finding {
	var found []scripts.Orphan
	var seen scripts.Seen
	var err error
	for _, s := range d.Scripts {
		some, known, failed := s.Definitions.Orphans(ctx)
		found, seen, err = append(found, some...), known, cmp.Or(err, failed)
	}
	if err == nil && len(found) > 0 && seen.AnyLive() {
		counts := map[string]int{}
		for _, o := range found {
			counts[o.Report]++
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			all = append(all, fmt.Sprintf("%s: %d", name, counts[name]))
		}
		err = fmt.Errorf("no process has the definition of running jobs (%s), such as %s: these start anew after "+
			"limits.recover_after, or with on_change: wait wait until their deadlines", strings.Join(all, ", "), found[0].ID)
	}
	return newFinding("definitions of running jobs", Warn, "all of them are known to processes", err,
		"start a process with the previous configuration, or run fanfold adopt --all to restart them with the current one")
}

// checkContenders warns if jobs compete for a full Redis.
func checkContenders(ctx context.Context, d *doctor) Finding {
	var all []string
	var failed error
	for _, s := range d.Scripts {
		since, err := s.Memory.Contention(ctx)
		if failed = cmp.Or(failed, err); err == nil && !since.IsZero() {
			contenders, err := s.Memory.Contenders(ctx)
			failed = cmp.Or(failed, err)
			all = append(all, fmt.Sprintf("%s compete for its memory: the last one made room at %s",
				words.Count(int64(len(contenders)), "job"), words.Stamp(since)))
		}
	}
	if failed == nil && len(all) > 0 {
		failed = errors.New("Redis is full: " + strings.Join(all, "; "))
	}
	return newFinding("jobs in a full Redis", Warn, "none had to make room in the last minute", failed,
		"they run one after another; raise maxmemory, set limits.redis_compression: zstd, or limit the running jobs of large "+
			"reports with running")
}

// checkQuarantine warns if entries were quarantined.
func checkQuarantine(ctx context.Context, d *doctor) Finding {
	var n int64
	var err error
	for _, s := range d.Scripts {
		some, failed := s.Entries.Len(ctx, s.Keys.Quarantined)
		n, err = n+some, cmp.Or(err, failed)
	}
	if err == nil && n > 0 {
		var newest []inspect.Quarantined
		if newest, err = d.in.Quarantine.List(ctx, func(inspect.Quarantined) bool { return true }, 1); err == nil &&
			len(newest) > 0 {
			err = fmt.Errorf("%s could not be used; the newest, of %s: %s", words.Count(n, "entry"),
				words.Stamp(newest[0].At), newest[0].Reason)
		}
	}
	return newFinding("quarantine", Warn, "it is empty", err,
		"fanfold quarantine ls lists them, requeue puts one back after its cause is corrected, and rm removes one")
}

// maxTimers is the maximum number of timers that are checked, the next ones first.
const maxTimers = 2000

// checkTimersDue warns if timers are overdue, or if no definition matches them.
func checkTimersDue(ctx context.Context, d *doctor) Finding {
	const check = "timers"
	all, err := d.in.Timers.List(ctx, func(string) bool { return true }, maxTimers)
	var undefined, overdue []string
	for _, t := range all {
		switch t.State {
		case "paused, no definition", "overdue, no definition":
			undefined = append(undefined, t.Name)
		case "overdue":
			overdue = append(overdue, t.Name)
		}
	}
	switch {
	case len(undefined) > 0:
		err = fmt.Errorf("no definition matches %d timers that are due, such as %s: they do not fire", len(undefined),
			undefined[0])
		return newFinding(check, Warn, "", err,
			"correct the key of a definition in timers, or remove them with fanfold "+
				"timer rm")
	case len(overdue) > 0:
		err = fmt.Errorf("%d timers are overdue, such as %s", len(overdue), overdue[0])
		return newFinding(check, Warn, "", err, why.SchedulerMissing)
	}
	return newFinding(check, Warn, "none is overdue", err, "")
}
