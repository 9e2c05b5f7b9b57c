package scripts

import (
	"bufio"
	"context"
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

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

var update = flag.Bool("update", false, "write the transcripts anew")

func TestMain(m *testing.M) { testmain.Main(m) }

// newScripts returns Scripts on keys of the test's own.
func newScripts(t testing.TB, split bool) (*Scripts, *redis.Client) {
	t.Helper()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	return New(Options{Redis: client, Split: split, Keys: Keys{Prefix: name + ":", Hash: name + "-"}}), client
}

// TestTranscripts plays the commands in testdata/*.txt on a real Redis and
// compares what each of them answered and changed.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, split := range []bool{false, true} {
		for _, file := range files {
			t.Run(fmt.Sprintf("%s/split=%v", filepath.Base(file), split), func(t *testing.T) {
				t.Parallel()
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				s, client := newScripts(t, split)
				got := play(t, s, client, string(want))
				if *update && !split {
					if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
					return
				}
				// What the methods of a cluster send comes to the same.
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			})
		}
	}
}

// play runs the lines that begin with "> " and returns the transcript.
func play(t *testing.T, s *Scripts, client *redis.Client, script string) string {
	p := &player{s: s, client: client, states: map[string]*State{}, seen: map[string]string{}}
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
		answer, err := p.run(t.Context(), strings.Fields(command))
		if err != nil {
			answer = "error: " + strings.Split(err.Error(), " script: ")[0]
		}
		fmt.Fprintf(&out, "> %s\n%s\n", command, answer)
		for _, change := range p.changes(t) {
			fmt.Fprintln(&out, "  "+change)
		}
	}
	return out.String()
}

// either is the first of two that is not empty.
func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

type player struct {
	s      *Scripts
	client *redis.Client
	states map[string]*State // by worker
	seen   map[string]string
}

const job = "1111"

func (p *player) run(ctx context.Context, words []string) (string, error) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(arg(i), 10, 64); return n }
	task := Task{ID: job, Attempt: number(1), Listener: arg(2), Owner: arg(3), Lease: time.Minute}
	chunk := func(n int64, values string) Chunk {
		return Chunk{
			Number: n, Rows: int64(strings.Count(values, ",") + 1), Names: []string{"c"},
			Columns: []map[string]string{{"name": "c", "type": "integer"}}, Fields: [][]byte{[]byte("[" + values + "]")},
		}
	}
	var outcome Outcome
	var err error
	switch words[0] {
	case "start": // attempt listeners [timeout [parameters [report [definition]]]]
		timeout := time.Hour
		if arg(3) != "" {
			timeout, _ = time.ParseDuration(arg(3))
		}
		outcome, err = p.s.Start(ctx, Start{
			ID: job, Attempt: number(1), Report: either(arg(5), "r"), Definition: either(arg(6), "d1"), Parameters: []byte(either(arg(4), `{"a":1}`)),
			Timeout: timeout, Listeners: strings.Split(arg(2), ","),
		})
	case "take": // attempt listener owner [definition]
		known := arg(4)
		if known == "" {
			known = "d1"
		}
		if arg(5) == "dead" {
			task.Lease = -time.Minute
		}
		var taken Taken
		if outcome, taken, err = p.s.Take(ctx, task, []string{"d0", known}); outcome == OK && err == nil {
			text := fmt.Sprintf("ok %s %s %s stage=%d tries=%d", taken.Report, taken.Definition, taken.Parameters, taken.Stage, taken.Tries)
			if taken.Failure != "" {
				text += ": " + taken.Failure
			}
			if taken.Memo != nil {
				text += fmt.Sprintf(" memo=%s", taken.Memo)
			}
			return text, nil
		}
	case "take-once": // attempt listener owner
		task.Once = true
		outcome, _, err = p.s.Take(ctx, task, []string{"d1"})
	case "append": // attempt listener owner number values
		outcome, err = p.s.Append(ctx, task, chunk(number(4), arg(5)))
	case "store", "ends": // attempt listener owner number [values]
		var stored Stored
		if words[0] == "store" {
			outcome, stored, err = p.s.Store(ctx, task, chunk(number(4), arg(5)))
		} else {
			outcome, stored, err = p.s.Ends(ctx, task, number(4))
		}
		if outcome == OK && err == nil {
			return fmt.Sprintf("ok chunks=%d last=%d ends=%d", stored.Chunks, stored.Last, stored.Ends), nil
		}
	case "complete": // attempt listener owner number values
		outcome, err = p.s.Complete(ctx, task, chunk(number(4), arg(5)), 7*time.Millisecond)
	case "remember": // attempt listener owner memo
		outcome, err = p.s.Remember(ctx, task, []byte(arg(4)))
	case "finish": // attempt listener owner number: what is stored was the last chunk
		outcome, err = p.s.Complete(ctx, task, Chunk{Number: number(4)}, 7*time.Millisecond)
	case "keep-task":
		task.Entry = Entry{p.s.Task(arg(2)), Group, "c", "0-1"}
		outcome, err = p.s.KeepTask(ctx, task)
	case "claim": // attempt stage worker [definition] [dead]
		c := Claim{ID: job, Attempt: number(1), Stage: number(2), Worker: arg(3), Lease: time.Minute, Known: []string{"d1"}}
		if d := arg(4); d != "" {
			c.Known = []string{d}
		}
		if arg(5) == "dead" {
			c.Lease = -time.Minute
		}
		var state *State
		outcome, state, err = p.s.Claim(ctx, c)
		if state != nil {
			p.states[arg(3)] = state
		}
	case "advance": // worker listeners
		outcome, err = p.s.Advance(ctx, p.states[arg(1)], strings.Split(arg(2), ","))
	case "keep-fold": // worker
		outcome, err = p.s.KeepFold(ctx, p.states[arg(1)], time.Minute, Entry{p.s.FanIn(), Group, "c", "0-1"})
	case "publish": // worker
		outcome, err = p.s.Publish(ctx, p.states[arg(1)])
	case "fail-task": // attempt listener owner reason
		outcome, err = p.s.FailTask(ctx, task, arg(4))
	case "omit-task": // attempt listener owner reason
		outcome, err = p.s.OmitTask(ctx, task, "optional", arg(4))
	case "fail-fold": // worker reason
		outcome, err = p.s.FailFold(ctx, p.states[arg(1)], arg(2), arg(3) == "remove")
	case "requeue-task": // attempt listener owner delay counts|free|waits error
		delay, _ := time.ParseDuration(arg(4))
		outcome, err = p.s.RequeueTask(ctx, task, Again{Delay: delay, Counts: arg(5) == "counts", Waits: arg(5) == "waits", Error: arg(6)})
	case "requeue-fold": // worker step delay counts|free error
		delay, _ := time.ParseDuration(arg(3))
		outcome, err = p.s.RequeueFold(ctx, p.states[arg(1)], arg(2), Again{Delay: delay, Counts: arg(4) == "counts", Error: arg(5)})
	case "cancel": // attempt
		var status string
		if outcome, status, err = p.s.Cancel(ctx, job, number(1), "nobody-needs-it"); status != "" {
			return outcome.String() + " " + status, err
		}
	case "expire":
		outcome, _, err = p.s.Expire(ctx, job)
	case "settle": // worker outcome detail
		outcome, err = p.s.Settle(ctx, p.states[arg(1)], arg(2), arg(3))
	case "fall-silent": // listener
		return "done", p.client.HSet(ctx, p.s.State(job), arg(1)+":lease", 1).Err()
	case "lose-data":
		return "done", p.client.Del(ctx, p.s.Data(job)).Err()
	default:
		return "", fmt.Errorf("unknown command %s", words[0])
	}
	return outcome.String(), err
}

// masked are the fields whose values are times.
var masked = []string{"started", "deadline", "expires", "lease", ":lease", ":taken", ":done", ":next", "began", "extended"}

// changes compares everything of the job with what was there before.
func (p *player) changes(t *testing.T) []string {
	ctx := t.Context()
	now := map[string]string{}
	hash := func(key, label string) {
		for field, value := range p.client.HGetAll(ctx, key).Val() {
			if slices.ContainsFunc(masked, func(m string) bool { return strings.HasSuffix(field, m) }) {
				value = "T"
			}
			now[label+" "+field] = value
		}
		if ttl := p.client.TTL(ctx, key).Val(); ttl != -2 {
			now[label+" ttl"] = ttl.Round(10 * time.Second).String()
		}
	}
	hash(p.s.State(job), "state")
	hash(p.s.Data(job), "data")
	for _, set := range []string{p.s.Deadlines(), p.s.Dead()} {
		if _, err := p.client.ZScore(ctx, set, job).Result(); err == nil {
			now[strings.TrimPrefix(set, p.s.Prefix)] = job
		}
	}
	for _, member := range p.client.ZRange(ctx, p.s.Delayed(), 0, -1).Val() {
		now["delayed "+member] = "T"
	}
	for attempt := range int64(3) {
		if p.client.Exists(ctx, p.s.Timeout(job, attempt)).Val() == 1 {
			now[fmt.Sprintf("timeout:%d", attempt)] = "set"
		}
	}
	for _, key := range p.client.Keys(ctx, p.s.Prefix+"*").Val() {
		if p.client.Type(ctx, key).Val() != "stream" || key == p.s.Events() {
			continue
		}
		for _, m := range p.client.XRange(ctx, key, "-", "+").Val() {
			entry := fmt.Sprintf("%s %v", strings.TrimPrefix(key, p.s.Prefix), m.Values)
			if now[entry] += "+"; p.s.split {
				now[entry] = "+" // doubles are sent in a cluster, and do nothing
			}
		}
	}
	var changes []string
	for _, k := range slices.Sorted(maps.Keys(now)) {
		if p.seen[k] != now[k] {
			changes = append(changes, strings.TrimSuffix(k+"="+now[k], "=+"))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p.seen)) {
		if _, ok := now[k]; !ok {
			changes = append(changes, k+" is gone")
		}
	}
	p.seen = now
	return changes
}
