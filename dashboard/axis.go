package dashboard

import (
	"math"
	"time"

	"github.com/fanfold/fanfold/internal/words"
)

// axisTick is a mark of an axis. A time is in UTC, and live.js writes it in the zone of the browser.
type axisTick struct {
	X, Y float64
	Text string
	At   int64  // Unix milliseconds; 0: it is no time
	Form string // see window
}

// across maps times to the width of a picture.
type across struct {
	from        time.Time
	of          time.Duration
	left, width float64
}

func (a across) x(at time.Time) float64 {
	return a.left + a.width*float64(at.Sub(a.from))/float64(a.of)
}

// ticks returns the ticks of the axis of times.
func (a across) ticks(s window) (all []axisTick) {
	for at := a.from.Truncate(s.tick); !at.After(a.from.Add(a.of)); at = at.Add(s.tick) {
		if x := a.x(at); x >= a.left && x <= a.left+a.width-20 {
			all = append(all, axisTick{X: x, Text: at.UTC().Format(s.date), At: at.UnixMilli(), Form: s.form})
		}
	}
	return all
}

// up maps values to the height of a picture, whose axis ends at a round value.
type up struct{ top, height, max float64 }

func (u up) y(v float64) float64 { return u.top + u.height*(1-v/u.max) }

// counts is an axis up to a number of things, and durations one up to a number of seconds.
func counts(top, height, highest float64) (up, []axisTick) {
	step := 1.0
	for i := 0; step*maxSteps < highest; i++ {
		step = []float64{1, 2, 5}[i%3] * math.Pow(10, float64(i/3))
	}
	return upTo(top, height, highest, step, func(v float64) string { return count(v) })
}

// steps are those of the axis of durations.
var steps = []time.Duration{
	time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
	5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day,
	2 * day, 4 * day,
}

func durations(top, height, highest float64) (up, []axisTick) {
	step := steps[0]
	for _, step = range steps {
		if step.Seconds()*maxSteps >= highest {
			break
		}
	}
	return upTo(top, height, highest, step.Seconds(), func(v float64) string {
		return words.Short(time.Duration(v * float64(time.Second)))
	})
}

// maxSteps is the maximum number of steps of an axis of values.
const maxSteps = 5

func upTo(top, height, highest, step float64, text func(float64) string) (u up, all []axisTick) {
	u = up{top, height, step * max(math.Ceil(highest/step), 1)}
	for v := 0.0; v <= u.max+step/2; v += step {
		all = append(all, axisTick{Y: u.y(v), Text: text(v)})
	}
	return u, all
}
