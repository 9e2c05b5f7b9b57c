package listeners

import "time"

// limit ends a task that takes too long. Time in which Redis is asked, or the task waits
// for a turn, does not count: that is not the task's fault. It is used by one goroutine, and
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

// without runs f, which asks Redis.
func (l *limit) without(f func() error) error {
	took, err := l.stopped(f)
	if l != nil && took >= slow {
		l.away += took
	}
	return err
}

// stopped runs f, whose time does not count, and returns how long it took.
func (l *limit) stopped(f func() error) (time.Duration, error) {
	began := time.Now()
	if l == nil || !l.timer.Stop() { // it is late already
		err := f()
		return 0, err
	}
	err := f()
	took := time.Since(began)
	l.end = l.end.Add(took)
	l.timer.Reset(time.Until(l.end))
	return took, err
}
