package listeners

import "time"

// limit ends a task that takes too long. Time in which Redis is asked does not
// count: that it is away is not the task's fault. It is used by one goroutine, and
// a nil limit never ends.
type limit struct {
	time  time.Duration
	end   time.Time
	timer *time.Timer
	away  time.Duration // for how long Redis was
}

// slow is how long an answer of Redis takes where it was away.
const slow = time.Second

// newLimit calls late when the time is over, unless stop was called.
func newLimit(d time.Duration, late func()) *limit {
	return &limit{time: d, end: time.Now().Add(d), timer: time.AfterFunc(d, late)}
}

// restart gives the task its whole time from now on.
func (l *limit) restart() {
	if l != nil {
		l.end = time.Now().Add(l.time)
		l.timer.Reset(l.time)
	}
}

func (l *limit) stop() { l.timer.Stop() }

// without runs f, whose time does not count.
func (l *limit) without(f func() error) error {
	if l == nil {
		return f()
	}
	if !l.timer.Stop() {
		return f() // it is late already
	}
	began := time.Now()
	defer func() {
		took := time.Since(began)
		if took >= slow {
			l.away += took
		}
		l.end = l.end.Add(took)
		l.timer.Reset(time.Until(l.end))
	}()
	return f()
}
