package tally

import (
	"fmt"
	"time"
)

// Level is a length of time for which there are counters.
type Level struct {
	Name string        // in the key
	Of   time.Duration // that one key counts
	Kept time.Duration // for which a key stays after its time
}

// Levels are all levels, the finest first.
var Levels = []Level{
	{"m", time.Minute, 2 * time.Hour},
	{"5m", 5 * time.Minute, 2 * day},
	{"h", time.Hour, 35 * day},
	{"d", day, 400 * day},
}

const day = 24 * time.Hour

// LevelFor returns the coarsest level of whose times a step is a multiple.
func LevelFor(step time.Duration) (Level, error) {
	for i := len(Levels) - 1; i >= 0; i-- {
		if l := Levels[i]; step > 0 && step%l.Of == 0 {
			return l, nil
		}
	}
	return Level{}, fmt.Errorf("a step of %s is not a multiple of a minute", step)
}

// Number returns the number of the time of a level that has an instant, counted from 1970.
func (l Level) Number(at time.Time) int64 { return at.UnixMilli() / l.Of.Milliseconds() }

// Start returns when the time with a number starts.
func (l Level) Start(number int64) time.Time { return time.UnixMilli(number * l.Of.Milliseconds()) }
