package report

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	sizeForm = regexp.MustCompile(`^([0-9]{1,13}) ?(|[KMG]B)$`)
	hostForm = regexp.MustCompile(`^[0-9A-Za-z._:%-]+$`)
)

// largestJob bounds limits.job_bytes.
const largestJob = 1 << 40

// largestFold bounds limits.fold_bytes, to what always has a place: a row that is a
// little longer than a block takes the places of two.
const largestFold = 8 << 30

func (p setting) limits() Limits {
	f := p.fields("running_jobs", "tasks", "folds", "fold_bytes", "grace", "lease", "stop", "memory", "job_bytes", "compress", "rebuild", "parameters")
	return Limits{
		RunningJobs: f.get("running_jobs").integer(1000, 1, 1_000_000),
		Tasks:       f.get("tasks").integer(16, 1, 10_000),
		Folds:       f.get("folds").integer(4, 1, 10_000),
		FoldBytes:   f.get("fold_bytes").size(128<<20, largestFold),
		Grace:       f.get("grace").duration(time.Minute),
		Lease:       f.get("lease").duration(10 * time.Second),
		Stop:        f.get("stop").duration(20 * time.Second),
		Memory:      f.get("memory").integer(80, 1, 100),
		JobBytes:    f.get("job_bytes").size(1<<30, largestJob),
		Compress:    f.get("compress").compress(),
		Rebuild:     f.get("rebuild").integer(500, 1, 1_000_000),
		Parameters:  f.get("parameters").parameterSize(),
	}
}

// Bounds of limits.parameters. A process that starts jobs holds those of 100 records.
const (
	leastParameters = 1 << 10
	mostParameters  = 1 << 20
)

// parameterSize decodes how many bytes a record's parameters may have.
func (p setting) parameterSize() int64 {
	size := p.size(DefaultParameters, largestJob)
	if size < leastParameters || size > mostParameters {
		p.problem("not a size from 1KB to 1MB", "Give 64KB, the default, or put long lists into a table that the queries read")
		return DefaultParameters
	}
	return size
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

// size decodes a number of bytes from 1 to the most, plain or with a unit, which
// is a power of 1024 as in redis.conf. In a gap it is the default.
func (p setting) size(otherwise, most int64) int64 {
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
	if err != nil || n < 1 || n > most/unit {
		p.problem(fmt.Sprintf("not a size from 1 byte to %dGB", most>>30), "")
		return otherwise
	}
	return n * unit
}

// address decodes host:port. In a gap, or where the text is empty, it is empty.
func (p setting) address() string {
	const remedy = "Write 127.0.0.1:9464, or 0.0.0.0:9464 for one that other machines reach too"
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

// lease decodes the silence after which a worker is taken for dead. Below a second
// a pause of the machine would be taken for a death.
func (p setting) lease() time.Duration {
	d := p.duration(10 * time.Second)
	if d < time.Second {
		p.problem("a lease shorter than 1s", "Give at least 1s; the default is 10s")
	}
	return d
}
