package scripts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// ReportSchedules are the schedules of a report in a process.
type ReportSchedules struct {
	Report string
	Has    bool                 // the process has the report
	Timers map[string]time.Time // name → next time
	Found  []string             // names of the report's timers that are in Redis, whether known or not
}

// version returns a text that differs if the timers do; it is not empty.
func (r ReportSchedules) version() string {
	if !r.Has {
		return ""
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(r.Timers)) {
		sum.Write([]byte(name + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// Reports returns the reports that have timers of schedules, or of which a process has announced schedules.
func (s Schedules) Reports(ctx context.Context) ([]string, error) {
	c := redis.NewMapStringStringCmd(ctx, "hgetall", s.Keys.Schedules)
	err := s.send(ctx, c)
	return slices.Sorted(maps.Keys(c.Val())), err
}

// Announce announces the schedules of reports, which a process has since a time of the server. With decide, the
// timers of those reports of which no running process has newer schedules are set and removed. A process has
// ended if it has announced nothing for a timeout. Announce returns how many timers were changed.
func (s Schedules) Announce(ctx context.Context, all []ReportSchedules, since time.Time, timeout time.Duration,
	decide bool) (changed int, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	var cmds []redis.Cmder
	for _, r := range all {
		args := []any{r.Report, r.version(), since.UnixMilli(), timeout.Milliseconds(), asFlag(decide), len(r.Timers)}
		for _, name := range slices.Sorted(maps.Keys(r.Timers)) {
			args = append(args, name, strconv.FormatInt(r.Timers[name].UnixMilli(), 10))
		}
		cmds = append(cmds, call(ctx, "schedule",
			[]string{s.Keys.Schedules, s.Keys.Timers, s.Keys.PausedTimers, s.Keys.TimerAnchors},
			append(args, asArgs(r.Found)...)...))
	}
	if err := s.do(ctx, cmds...); err != nil {
		return 0, err
	}
	for _, c := range cmds {
		n, failed := c.(*redis.Cmd).Int()
		if changed += n; failed != nil && err == nil {
			err = asError(nameOf(c), failed)
		}
	}
	return changed, err
}

// Find returns the names of all timers of schedules that are set or paused, by report.
func (s Schedules) Find(ctx context.Context) (map[string][]string, error) {
	found := map[string][]string{}
	for _, key := range []string{s.Keys.Timers, s.Keys.PausedTimers} {
		for page, err := range (Sets{s.conn}).Scan(ctx, key) {
			if err != nil {
				return nil, err
			}
			for _, m := range page {
				if of := report.ScheduledReport(m.Name); of != "" {
					found[of] = append(found[of], m.Name)
				}
			}
		}
	}
	return found, nil
}
