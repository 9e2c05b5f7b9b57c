package waiting

import (
	"strconv"
	"time"

	"github.com/fanfold/fanfold/web/languages"
)

// size formats the size of a file like words.Bytes, with the numbers of the language.
func size(in *languages.Language, bytes int64) string {
	const unit = 1024
	if bytes < unit {
		return in.Count("bytes", bytes)
	}
	value, i := float64(bytes)/unit, 0
	for ; value >= unit && i < 3; i++ {
		value /= unit
	}
	return in.Decimal(value, 1) + " " + []string{"KB", "MB", "GB", "TB"}[i]
}

// span formats a duration roughly, such as 12 s, 3 min or 1 h 5 min. Minutes reach 90 before the first hour.
func span(in *languages.Language, d time.Duration) string {
	d = max(d, time.Second)
	if d < 90*time.Second {
		return in.Say("seconds", "n", strconv.Itoa(int((d+time.Second/2)/time.Second)))
	}
	switch minutes := int((d + time.Minute/2) / time.Minute); {
	case d < 90*time.Minute:
		return in.Say("minutes", "n", strconv.Itoa(minutes))
	case minutes%60 == 0:
		return in.Say("hours", "n", strconv.Itoa(minutes/60))
	default:
		return in.Say("hours-minutes", "hours", strconv.Itoa(minutes/60), "minutes", strconv.Itoa(minutes%60))
	}
}
