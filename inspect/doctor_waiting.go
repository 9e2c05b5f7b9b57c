package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkPauses names what is paused: a pause may be forgotten.
func (d redisDoctor) checkPauses(ctx context.Context) Finding {
	list, err := d.Pauses(ctx)
	if err == nil && len(list) > 0 {
		var all []string
		for _, p := range list {
			text := p.What + " is paused since " + Stamp(p.Since)
			if p.Waiting > 0 {
				text += fmt.Sprintf(", %d ids wait", p.Waiting)
			}
			all = append(all, text)
		}
		err = errors.New(strings.Join(all, "; "))
	}
	return newFinding("pauses", Warn, "nothing is paused", err, "fanfold resume listener NAME, or report NAME, ends one")
}

// checkDefinitions counts the running jobs whose definition no process has.
func (d redisDoctor) checkDefinitions(ctx context.Context) Finding {
	found, seen, err := d.scripts.Orphans(ctx)
	if err == nil && len(found) > 0 && seen.AnyLive() {
		counts := map[string]int{}
		for _, o := range found {
			counts[o.Report]++
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			all = append(all, fmt.Sprintf("%s: %d", name, counts[name]))
		}
		err = fmt.Errorf("no process has the definition of running jobs (%s), such as %s: they stand still until their deadlines, or until on_change: restart of their reports starts them anew", strings.Join(all, ", "), found[0].ID)
	}
	return newFinding("definitions of running jobs", Warn, "processes have them", err, "start a process with the configuration as it was, or fanfold adopt --all restarts them with today's")
}

// checkQuarantine tells of entries that were put aside.
func (d redisDoctor) checkQuarantine(ctx context.Context) Finding {
	n, err := d.redis.XLen(ctx, d.scripts.Quarantined()).Result()
	if err == nil && n > 0 {
		var newest []Quarantined
		if newest, err = d.Quarantine(ctx, func(Quarantined) bool { return true }, 1); err == nil && len(newest) > 0 {
			err = fmt.Errorf("%d entries could not be used, the newest %s: %s", n, Stamp(newest[0].At), newest[0].Reason)
		}
	}
	return newFinding("quarantine", Warn, "it is empty", err, "fanfold quarantine ls lists them; fanfold quarantine rm removes what is dealt with")
}

// checkTimersDue tells of timers that are overdue, and of those that no definition matches.
func (d redisDoctor) checkTimersDue(ctx context.Context) Finding {
	const check = "timers"
	now, err := d.redis.Time(ctx).Result()
	var all []Timer
	if err == nil {
		all, err = d.Timers(ctx, func(string) bool { return true }, 2*pageSize)
	}
	var undefined, overdue []string
	for _, t := range all {
		paused := strings.HasPrefix(t.State, "paused")
		if t.Definition == "" && (paused || t.overdue(now)) {
			undefined = append(undefined, t.Name)
		} else if t.overdue(now) && !paused {
			overdue = append(overdue, t.Name)
		}
	}
	switch {
	case len(undefined) > 0:
		err = fmt.Errorf("%d timers are due that no definition matches, such as %s: they do not fire", len(undefined), undefined[0])
		return newFinding(check, Warn, "", err, "correct the key of a definition in timers, or fanfold timer rm removes them")
	case len(overdue) > 0:
		err = fmt.Errorf("%d timers are overdue, such as %s", len(overdue), overdue[0])
		return newFinding(check, Warn, "", err, schedulerMissing)
	}
	return newFinding(check, Warn, "none is overdue", err, "")
}
