package config

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

var (
	sizeForm = regexp.MustCompile(`^([0-9]{1,13}) ?(|[KMG]B)$`)
	hostForm = regexp.MustCompile(`^[0-9A-Za-z._:%-]+$`)
)

// The bounds of limits.job_bytes: below a megabyte, four chunks of one task can be too
// many.
const (
	smallestJob = 1 << 20
	largestJob  = 1 << 40
)

// The bounds of limits.fold_bytes: from what a scratch file is read in, to what always
// has a place, since a row that is a little longer than a block takes the places of two.
const (
	smallestFold = 64 << 10
	LargestFold  = 8 << 30
)

// The bounds of limits.parameters. A process that starts jobs holds those of 100 records.
const (
	leastParameters = 1 << 10
	mostParameters  = 1 << 20
)

// The bounds of limits.lease.
const (
	shortestLease = time.Second
	longestLease  = time.Hour
)

func (p setting) limits() Limits {
	f := p.fields("running_jobs", "tasks", "folds", "fold_bytes", "grace", "lease", "stop", "memory", "job_bytes", "compress", "rebuild", "parameters")
	return Limits{
		RunningJobs: f.get("running_jobs").integer(1000, 1, 1_000_000),
		Tasks:       f.get("tasks").integer(16, 1, 10_000),
		Folds:       f.get("folds").integer(4, 1, 10_000),
		FoldBytes:   f.get("fold_bytes").size(128<<20, smallestFold, LargestFold),
		Grace:       f.get("grace").atLeast(time.Second, time.Minute, "Records that change in that time are left alone"),
		Lease:       f.get("lease").lease(10 * time.Second),
		Stop:        f.get("stop").duration(20 * time.Second),
		Memory:      f.get("memory").integer(80, 1, 100),
		JobBytes:    f.get("job_bytes").size(1<<30, smallestJob, largestJob),
		Compress:    f.get("compress").compress(),
		Rebuild:     f.get("rebuild").integer(500, 1, 1_000_000),
		Parameters:  f.get("parameters").size(DefaultParameters, leastParameters, mostParameters),
	}
}

// compress decodes whether chunks are compressed. In a gap they are not.
func (p setting) compress() bool {
	if !p.given() {
		return false
	}
	text, ok := p.text()
	if ok && text != "off" && text != "zstd" {
		p.problem("neither off nor zstd", "")
	}
	return text == "zstd"
}

// size decodes a number of bytes within bounds, both included, plain or with a unit,
// which is a power of 1024 as in redis.conf. In a gap it is the default.
func (p setting) size(otherwise, least, most int64) int64 {
	if !p.given() {
		return otherwise
	}
	text, ok := p.text()
	if !ok {
		return otherwise
	}
	parts := sizeForm.FindStringSubmatch(strings.ToUpper(text))
	if parts == nil {
		p.problem("not a size", "Write a number of bytes, or one with KB, MB or GB, such as 512MB")
		return otherwise
	}
	unit := map[string]int64{"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}[parts[2]]
	// 13 digits are whole here, and the comparison divides so that nothing overflows.
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || n > most/unit || n*unit < least {
		remedy := ""
		if parts[2] == "" {
			remedy = "A number without a unit is in bytes"
		}
		p.problem(fmt.Sprintf("not a size from %s to %s", shortSize(least), shortSize(most)), remedy)
		return otherwise
	}
	return n * unit
}

// address decodes host:port. In a gap, or where the text is empty, it is empty.
func (p setting) address() string {
	const remedy = "Write 127.0.0.1:9464, or 0.0.0.0:9464 with admin_public: true for one that other machines reach too"
	if !p.given() {
		return ""
	}
	text, ok := p.text()
	if !ok || text == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(text)
	_, portErr := strconv.ParseUint(port, 10, 16)
	switch {
	case err == nil && host == "":
		p.problem("a port without host", remedy)
	case err != nil || portErr != nil || !hostForm.MatchString(host):
		p.problem("not host:port", remedy)
	default:
		return text
	}
	return ""
}

// shortSize writes a size in its largest unit.
func shortSize(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "KB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// lease decodes the silence after which a worker is taken for dead. It is renewed each
// third of it, and a renewal may come late: below a second a pause of the machine or of
// Redis would be taken for a death. A dead worker's work waits for it, so it has an end.
func (p setting) lease(otherwise time.Duration) time.Duration {
	d := p.duration(otherwise)
	if d < shortestLease || d > longestLease {
		p.problem(fmt.Sprintf("a lease of %s, which is renewed every %s, is not from %s to %s",
			report.ShortDuration(d), report.ShortDuration((d/3).Round(time.Microsecond)), report.ShortDuration(shortestLease), report.ShortDuration(longestLease)),
			"Write "+report.ShortDuration(otherwise)+" for the default: a third of it must be longer than a pause of the machine")
		return otherwise
	}
	return d
}

// atLeast decodes a duration that must not be shorter than another one.
func (p setting) atLeast(least, otherwise time.Duration, why string) time.Duration {
	d := p.duration(otherwise)
	if d < least {
		p.problem("shorter than "+report.ShortDuration(least), why+": give at least "+report.ShortDuration(least))
		return otherwise
	}
	return d
}
