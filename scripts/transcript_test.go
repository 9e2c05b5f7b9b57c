package scripts

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// TestTranscripts plays the commands in testdata/*.txt on a real Redis and compares what
// each of them answered and changed.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// play runs the lines that begin with "> " and returns the transcript.
func play(t *testing.T, script string) string {
	s, client := newScripts(t)
	p := &player{t: t, s: s, client: client, hands: map[string]*hand{}, labels: map[string]string{}, count: map[string]int{}, told: "-"}
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") || line == "" {
			fmt.Fprintln(&out, line)
			continue
		}
		command, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		answer, err := p.run(t.Context(), command)
		if err != nil {
			answer = "error: " + strings.ReplaceAll(strings.Split(err.Error(), " script: ")[0], s.Keys.Hash, "")
		}
		fmt.Fprintf(&out, "> %s\n%s\n", command, answer)
		for _, change := range p.changes() {
			fmt.Fprintln(&out, "  "+strings.ReplaceAll(change, s.Keys.Hash, ""))
		}
	}
	return out.String()
}

const jobID = "1111"

// player plays the commands of a transcript on one job.
type player struct {
	t      *testing.T
	s      *Scripts
	client *redis.Client
	hands  map[string]*hand  // by worker
	labels map[string]string // of entries, by stream and id
	count  map[string]int    // of the labels of a stream
	seen   []line
	told   string // the last event that was shown
}

// hand is what a worker has in hand: an entry, and what it has made of it.
type hand struct {
	worker, step string
	entry        Entry
	message      Message
	stage        int64
	task         *Task
	fold         *Fold
}

// words are those of a command, and its options: words of the form name=value.
type words struct {
	list    []string
	options map[string]string
}

func parseWords(command string) words {
	w := words{options: map[string]string{}}
	for _, word := range strings.Fields(command) {
		if name, value, ok := strings.Cut(word, "="); ok && !strings.HasPrefix(word, "{") {
			w.options[name] = value
		} else {
			w.list = append(w.list, word)
		}
	}
	return w
}

func (w words) at(i int) string {
	if i < len(w.list) {
		return w.list[i]
	}
	return ""
}

func (w words) number(i int) int64 { n, _ := strconv.ParseInt(w.at(i), 10, 64); return n }

// option is a word name=value, or else a default.
func (w words) option(name, otherwise string) string {
	if value, ok := w.options[name]; ok {
		return value
	}
	return otherwise
}

func (w words) optionNumber(name string) int64 {
	n, _ := strconv.ParseInt(w.options[name], 10, 64)
	return n
}

func (w words) has(word string) bool { return slices.Contains(w.list, word) }

// duration is that of a word; zero if there is none.
func (p *player) duration(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

func (p *player) run(ctx context.Context, command string) (string, error) {
	w := parseWords(command)
	if run, ok := jobCommands[w.at(0)]; ok {
		return run(p, ctx, w)
	}
	if run, ok := entryCommands[w.at(0)]; ok {
		return run(p, ctx, w)
	}
	h := p.hands[w.at(1)]
	if h == nil {
		return "", fmt.Errorf("%s has nothing in hand, or the command is unknown", w.at(1))
	}
	if run, ok := foldCommands[w.at(0)]; ok && h.step == job.StepFanIn {
		return run(p, ctx, h, w)
	}
	if run, ok := taskCommands[w.at(0)]; ok && h.task != nil {
		return run(p, ctx, h, w)
	}
	return "", errors.New("unknown command")
}

// either is the first of two that is not empty.
func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// line is one thing that Redis has, as a transcript shows it.
type line struct{ name, value, of string }

// changes compares everything of the job with what there was before.
func (p *player) changes() (changes []string) {
	now := p.everything()
	before := map[string]string{}
	for _, l := range p.seen {
		before[l.name] = l.value
	}
	for _, l := range now {
		if value, ok := before[l.name]; !ok || value != l.value {
			changes = append(changes, strings.TrimSuffix(l.name+"="+l.value, "="))
		}
		delete(before, l.name)
	}
	_, gone := before["job"] // with all its fields
	for _, l := range p.seen {
		entry, with := strings.CutSuffix(l.name, " with")
		_, both := before[entry]
		_, ok := before[l.name]
		switch {
		case !ok, with && both, gone && l.of == "hash" && l.name != "job":
		case gone && l.name == "job":
			changes = append(changes, "hash is gone")
		default:
			changes = append(changes, l.name+" is gone")
		}
	}
	p.seen = now
	for _, e := range p.client.XRange(p.t.Context(), p.s.Keys.Events, p.told, "+").Val() {
		p.told = "(" + e.ID
		event, attempt := e.Values["event"], e.Values["attempt"]
		delete(e.Values, "event")
		delete(e.Values, "attempt")
		changes = append(changes, strings.TrimSpace(fmt.Sprintf("event %s of %s %s", event, attempt, p.fields(e.Values))))
	}
	return changes
}

// fields shows the fields of an entry.
func (p *player) fields(values map[string]any) string {
	var text []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch value := values[name]; name {
		case "id": // always the same
		case "next", "ms":
			text = append(text, name+"=T")
		default:
			text = append(text, fmt.Sprintf("%s=%s", name, value))
		}
	}
	return strings.Join(text, " ")
}

// times are the fields whose values are times.
var times = []string{":lease", ":taken", ":next", "began", "extended"}

// everything lists what Redis has of the job.
func (p *player) everything() (all []line) {
	ctx := p.t.Context()
	add := func(name, value string) { all = append(all, line{name: name, value: value}) }
	streams := p.client.Keys(ctx, p.s.Keys.Prefix+"*").Val()
	slices.Sort(streams)
	var entries []line
	for _, stream := range streams {
		if stream != p.s.Keys.Events && p.client.Type(ctx, stream).Val() == "stream" {
			entries = append(entries, p.entries(stream)...)
		}
	}
	all = append(all, p.hash(p.s.Keys.Job(jobID))...)
	ttl := func(key, name, of string) {
		if left := p.client.PTTL(ctx, key).Val(); left == -1 {
			all = append(all, line{name, "none", of})
		} else if left > 0 {
			all = append(all, line{name, about(left), of})
		}
	}
	ttl(p.s.Keys.Job(jobID), "ttl", "hash")
	for _, l := range p.hash(p.s.Keys.Kept(jobID)) {
		add("kept "+l.name, l.value)
	}
	ttl(p.s.Keys.Kept(jobID), "kept for", "")
	if ended, err := p.client.Get(ctx, p.s.Keys.Ended(jobID)).Result(); err == nil {
		add("ended", ended)
		ttl(p.s.Keys.Ended(jobID), "ended ttl", "")
	}
	if at, err := p.client.ZScore(ctx, p.s.Keys.Deadlines, jobID).Result(); err == nil {
		add("deadline in", about(time.Until(time.UnixMilli(int64(at)))))
	}
	ttl(p.s.Keys.Wake, "wake in", "")
	if p.client.ZScore(ctx, p.s.Keys.Dead, jobID).Err() == nil {
		add("dead", "")
	}
	for _, member := range p.client.ZRange(ctx, p.s.Keys.Contenders, 0, -1).Val() {
		add("contender "+member, "")
	}
	ttl(p.s.Keys.Full, "full for", "")
	for _, member := range p.client.ZRange(ctx, p.s.Keys.Delayed, 0, -1).Val() {
		add("delayed "+member, "")
	}
	return append(all, entries...)
}

// hash lists the fields of a job's hash.
func (p *player) hash(key string) (all []line) {
	ctx := p.t.Context()
	hash := p.client.HGetAll(ctx, key).Val()
	fields := slices.Sorted(maps.Keys(hash))
	slices.SortStableFunc(fields, func(a, b string) int { // the state comes first
		return strings.Compare(strings.TrimPrefix("~"+a, "~job"), strings.TrimPrefix("~"+b, "~job"))
	})
	for _, field := range fields {
		value := hash[field]
		if slices.ContainsFunc(times, func(t string) bool { return strings.HasSuffix(field, t) }) {
			value = "T"
		}
		if attempt, _, ok := strings.Cut(value, " "); ok && strings.HasSuffix(field, ":kept") {
			value = attempt + " T"
		}
		if strings.HasSuffix(field, ":writer") {
			value = "W" // it is random
		}
		if words := strings.Split(value, " "); field == "job" && len(words) == 11 {
			words[4], words[8], words[9] = "T", "T", "T"
			value = strings.Join(words, " ")
		}
		if at, found, ok := strings.Cut(value, " "); strings.HasSuffix(field, ":found") && ok && strings.HasPrefix(at, "at=") {
			value = "at=T " + found
		}
		if step, ok := strings.CutSuffix(field, ":entry"); ok {
			value = either(either(p.labels[p.key(step)+value], p.labels[p.s.Keys.FanInLarge+value]), value)
		}
		all = append(all, line{field, value, "hash"})
	}
	return all
}

// entries lists those of a stream, and which worker has each of them how often.
func (p *player) entries(stream string) (all []line) {
	ctx := p.t.Context()
	with := map[string]string{}
	for _, e := range p.client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: stream, Group: Group, Start: "-", End: "+", Count: 100}).Val() {
		with[e.ID] = fmt.Sprintf("%s, delivery %d", e.Consumer, e.RetryCount)
	}
	name := strings.TrimPrefix(stream, p.s.Keys.Prefix)
	for _, e := range p.client.XRange(ctx, stream, "-", "+").Val() {
		if p.labels[stream+e.ID] == "" {
			p.count[stream]++
			p.labels[stream+e.ID] = fmt.Sprintf("%s #%d", name, p.count[stream])
		}
		label := p.labels[stream+e.ID]
		all = append(all, line{name: label, value: p.fields(e.Values)})
		if with[e.ID] != "" {
			all = append(all, line{name: label + " with", value: with[e.ID]})
		}
	}
	return all
}

// about rounds a time that is left: a busy machine can take half a minute for a transcript.
func about(left time.Duration) string {
	if left > 5*time.Minute {
		return left.Round(time.Minute).String()
	}
	return left.Round(10 * time.Second).String()
}
