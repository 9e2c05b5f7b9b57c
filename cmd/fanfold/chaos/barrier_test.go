package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// barriers checks in Redis's append-only file that every barrier fired exactly once. The file lists
// all writes in the order of their effect, including those of scripts. It is complete: it is not
// capped, it is never rewritten here (redisExtra), FLUSHALL is one more line, and a write that a
// crash removes from it is also lost in Redis.
func (r verdict) barriers() {
	log := &barrierLog{states: map[string]*jobLog{}, fired: map[string]int{}, entries: map[string]int{}}
	files, err := filepath.Glob(filepath.Join(r.dir, "redis", "appendonlydir", "*.incr.aof"))
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(fmt.Sprintf("%200s", a), fmt.Sprintf("%200s", b)) })
	if err != nil || len(files) == 0 {
		r.violated("append-only file: %v", err)
		return
	}
	for _, f := range files {
		if err := log.read(f); err != nil {
			r.violated("append-only file: %v", err)
			return
		}
	}
	for _, text := range log.wrong {
		r.violated("%s", text)
	}
	// A barrier that was taken back need not fire again: the job may have failed, or been cancelled.
	unfired := func(_ string, n int) bool { return n == 0 }
	maps.DeleteFunc(log.fired, unfired)
	maps.DeleteFunc(log.entries, unfired)
	for barrier, n := range log.fired {
		if n != 1 {
			id, _, _ := strings.Cut(barrier, "/")
			r.violated("barrier %s fired %d times:\n%s", barrier, n, writesOf(id, files))
		}
	}
	for barrier, n := range log.entries {
		if n != 1 || log.fired[barrier] != 1 {
			r.violated("barrier %s fired %d times and made %d entries", barrier, log.fired[barrier], n)
		}
	}
	ends := 0
	for id, attempt := range log.published {
		ends++
		for stage := 1; stage <= 2; stage++ {
			if barrier := fmt.Sprintf("%s/%s/%d", id, attempt, stage); log.fired[barrier] != 1 {
				r.violated("job %s/%s was published, and its barrier %d fired %d times", id, attempt, stage, log.fired[barrier])
			}
		}
	}
	if ends == 0 {
		r.violated("the append-only file knows of no job: the judge is blind")
	}
	r.totals.add("barriers", len(log.fired))
	r.totals.add("listeners that ran again for lost segments", log.opened)
	r.totals.add("writes of Redis", log.writes)
}

// writesOf returns the writes of Redis that concern a job, one numbered line for each.
func writesOf(id string, files []string) string {
	var text strings.Builder
	writes := 0
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		in := bufio.NewReaderSize(f, 1<<20)
		for args, err := readCommand(in); err == nil; args, err = readCommand(in) {
			writes++
			if line := fmt.Sprintf("%.600q", args); strings.EqualFold(args[0], "flushall") || slices.Contains(args, id) ||
				strings.Contains(line, "FileDownloadRecordEntity-"+id+`"`) || slices.Contains(args, "fanfold:incarnation") {
				fmt.Fprintf(&text, "%9d %s\n", writes, line)
			}
		}
		f.Close()
	}
	return text.String()
}

// barrierLog tracks the states of all jobs through the writes of Redis.
type barrierLog struct {
	states    map[string]*jobLog
	fired     map[string]int    // id/attempt/stage: it became READY
	entries   map[string]int    // id/attempt/stage: entries of the fan-in stream that are no copies
	published map[string]string // id → attempt
	wrong     []string
	writes    int
	opened    int // listeners that were opened again
}

// jobLog is the state of a job, as far as the writes show it.
type jobLog struct {
	attempt, stage, status string
	target                 int
	done                   map[string]bool
	counted                int
}

// reopened returns the listener that a write opens again because its segments are lost; empty: none.
func (j *jobLog) reopened(fields map[string]string, count string) string {
	if done, _, _ := strings.Cut(count, "/"); done != strconv.Itoa(j.counted-1) {
		return ""
	}
	for listener := range j.done {
		if fields[listener+":generation"] != "" && fields[listener+":blame"] == "spool" {
			return listener
		}
	}
	return ""
}

func (l *barrierLog) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		args, err := readCommand(in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s after %d writes: %w", file, l.writes, err)
		}
		l.writes++
		l.apply(args)
	}
}

// readCommand reads one command in Redis's format: *<n>, then every argument as $<length> and
// bytes.
func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readCount(in, '*')
	args := make([]string, 0, max(n, 0))
	for i := 0; err == nil && i < n; i++ {
		var size int
		if size, err = readCount(in, '$'); err == nil {
			b := make([]byte, size+2)
			if _, err = io.ReadFull(in, b); err == nil {
				args = append(args, string(b[:size]))
			}
		}
	}
	return args, err
}

func readCount(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q where %q is expected", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

func (l *barrierLog) apply(args []string) {
	if len(args) == 0 {
		return
	}
	switch strings.ToUpper(args[0]) {
	case "FLUSHALL":
		clear(l.states)
	case "HSET", "HMSET":
		if id, ok := jobOf(args[1]); ok {
			l.set(id, pairs(args[2:]))
		}
	case "UNLINK", "DEL":
		for _, key := range args[1:] {
			if id, ok := jobOf(key); ok {
				delete(l.states, id)
			}
		}
	case "XADD":
		if args[1] != "fanfold:fanin" && args[1] != "fanfold:fanin:large" {
			return
		}
		fields := pairs(args[3:]) // behind the key and the entry's id
		if stage := fields["stage"]; stage != "" && stage != "0" && fields["copy"] == "" && fields["moved"] == "" {
			l.entries[fields["id"]+"/"+fields["attempt"]+"/"+stage]++
		}
	}
}

func jobOf(key string) (string, bool) {
	id, ok := strings.CutPrefix(key, "FileDownloadRecordEntity-")
	return id, ok && !strings.Contains(id, ":")
}

func pairs(list []string) map[string]string {
	fields := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		fields[list[i]] = list[i+1]
	}
	return fields
}

func (l *barrierLog) set(id string, fields map[string]string) {
	words := strings.Fields(fields["job"])
	_, starts := fields["parameters"]
	if starts && len(words) > 0 {
		l.states[id] = &jobLog{attempt: words[0], done: map[string]bool{}}
	}
	job := l.states[id]
	if job == nil {
		l.wrong = append(l.wrong, fmt.Sprintf("the state of job %s was written without being started: %v", id, fields))
		return
	}
	if len(words) == 0 {
		return
	}
	status, stage, count := words[1], words[2], words[5]
	name := id + "/" + job.attempt
	if listener := job.reopened(fields, words[5]); listener != "" {
		if job.status != "RUN" { // its stage has ended, and ends once more
			l.fired[name+"/"+stage]--
			l.entries[name+"/"+stage]--
		}
		delete(job.done, listener)
		job.counted--
		l.opened++
	}
	job.status = status
	if words[0] != job.attempt {
		l.wrong = append(l.wrong, fmt.Sprintf("job %s became attempt %s without being started", name, words[0]))
	}
	if stage != job.stage {
		job.stage = stage
		job.target += strings.Count(words[7], "|") - 1
	}
	for field := range fields {
		if listener, ok := strings.CutSuffix(field, ":found"); ok {
			if job.done[listener] {
				l.wrong = append(l.wrong, fmt.Sprintf("listener %s of job %s was counted twice", listener, name))
			}
			job.done[listener] = true
			job.counted++
		}
	}
	if want := fmt.Sprintf("%d/%d", job.counted, job.target); count != want || fields["queryDoneCount"] != "" && fields["queryDoneCount"] != strconv.Itoa(job.counted) {
		l.wrong = append(l.wrong, fmt.Sprintf("job %s counted %s, queryDoneCount %q, instead of %s", name, count, fields["queryDoneCount"], want))
	}
	switch status {
	case "READY":
		l.fired[name+"/"+job.stage]++
		if len(job.done) != job.target || job.counted != job.target {
			l.wrong = append(l.wrong, fmt.Sprintf("barrier %s/%s fired with %d of %d done, counted %d", name, job.stage, len(job.done), job.target, job.counted))
		}
	case "PUBLISHING":
		if l.published == nil {
			l.published = map[string]string{}
		}
		l.published[id] = job.attempt
	}
}
