package job

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Parse reads the fields of a job's hash, or its tombstone as the field ended.
func Parse(id string, fields map[string]string) (*State, error) {
	p := parser{fields: fields}
	state := &State{ID: id, Fold: p.step(StepFanIn), Tasks: map[string]TaskState{}}
	if ended, ok := fields["ended"]; ok {
		p.ended(ended, state)
		return p.result(state)
	}
	open := p.line(fields["job"], state)
	state.Parameters, state.Worker = []byte(fields["parameters"]), fields[StepFanIn+":owner"]
	state.Reason, state.Blame = fields["reason"], Blame(fields["blame"])
	state.Outcome, state.Remove = fields["outcome"], fields["remove"] != ""
	state.Spooled, state.From = p.number("spooled"), fields["from"]
	state.Trace, state.Keep = Trace{fields["traceparent"], fields["pushed"]}, ParseKeep(fields["keep"])
	for i, stage := range strings.Split(fields["listeners"], ";") {
		for listener := range strings.SplitSeq(stage, ",") {
			generation, isOpen := open[listener]
			state.Tasks[listener] = p.task(listener, int64(i)+1, generation)
			if isOpen || int64(i)+1 == state.Stage {
				state.Listeners = append(state.Listeners, listener)
			}
		}
	}
	return p.result(state)
}

// Head reads how a line and a tombstone begin. Zero values mean that it is neither.
func Head(text string) (attempt int64, status string) {
	number, rest, _ := strings.Cut(text, " ")
	attempt, _ = strconv.ParseInt(number, 10, 64)
	status, _, _ = strings.Cut(rest, " ")
	return attempt, status
}

// AllListeners returns the listeners of all stages, with commas, of what the field listeners says: names
// with commas, stages with semicolons.
func AllListeners(listeners string) string { return strings.ReplaceAll(listeners, ";", ",") }

// ParseLine reads what the field job alone says.
func ParseLine(line string) (*State, error) {
	var (
		p     parser
		state State
	)
	p.line(line, &state)
	return &state, p.err
}

// OpenListeners returns the names of the listeners that a line waits for, in their order.
func OpenListeners(line string) []string {
	words := strings.Split(line, " ")
	if len(words) != 11 {
		return nil
	}
	var names []string
	for _, open := range strings.FieldsFunc(words[7], func(r rune) bool { return r == '|' }) {
		name, _, _ := strings.Cut(open, "#")
		names = append(names, name)
	}
	return names
}

// parser reads texts and keeps the first error.
type parser struct {
	fields map[string]string
	err    error
}

func (p *parser) result(state *State) (*State, error) {
	if p.err != nil {
		return nil, fmt.Errorf("state of %s: %w", state.ID, p.err)
	}
	return state, nil
}

// line reads the line of a job (see lua/job.lua of scripts), and returns the generations of its open
// listeners.
func (p *parser) line(line string, state *State) map[string]int64 {
	words := strings.Split(line, " ")
	if len(words) != 11 {
		p.err = fmt.Errorf("the field job is %.100q", line)
		return nil
	}
	number := func(i int) int64 { return p.parse("job", words[i]) }
	state.Attempt, state.Status, state.Stage, state.Fence = number(0), words[1], number(2), number(3)
	done, target, _ := strings.Cut(words[5], "/")
	state.Deadline, state.Started = time.UnixMilli(number(4)), time.UnixMilli(number(9))
	state.Done, state.Target, state.Bytes = p.parse("job", done), p.parse("job", target), number(6)
	state.Report, state.Definition = SplitOf(words[10])
	open := map[string]int64{}
	for _, name := range strings.Split(strings.Trim(words[7], "|"), "|") {
		name, generation, ok := strings.Cut(name, "#")
		open[name] = 0
		if ok {
			open[name] = p.parse("job", generation)
		}
	}
	return open
}

// task reads what a state says of a listener.
func (p *parser) task(listener string, stage, generation int64) TaskState {
	t := TaskState{
		StepState: p.step(listener), Stage: stage, Generation: generation, Owner: p.fields[listener+":owner"],
		LastOwner: p.fields[listener+":last_owner"],
		Lease:     p.time(listener + ":lease"), Taken: p.time(listener + ":taken"), Total: -1,
		Waits: p.fields[listener+":waits"], At: p.fields[listener+":at"],
	}
	if p.fields[listener+":total"] != "" {
		t.Total = p.number(listener + ":total")
	}
	if kept := p.fields[listener+":kept"]; kept != "" {
		attempt, until, _ := strings.Cut(kept, " ")
		t.Reused, t.KeptUntil = p.parse("kept", attempt), time.UnixMilli(p.parse("kept", until))
	}
	if memo := p.fields[listener+":memo"]; memo != "" {
		t.Memo = []byte(memo)
	}
	if t.Owner != "" {
		t.Tries++ // the one that runs
	}
	text, done := p.fields[listener+":found"]
	if t.Done = done; !done {
		t.progress()
		if blame, what, ok := strings.Cut(p.fields[listener+":pause"], " "); ok {
			t.Pause, t.Waits, t.Blame = what, what, Blame(blame)
		}
		text = p.fields[listener+":part"]
	} else if t.Owner == "" && t.Reused == 0 {
		t.Tries++
	}
	p.found(text, &t)
	if at, why, stale := strings.Cut(p.fields[listener+":stale"], " "); stale && done {
		t.StaleAt, t.Failed = time.UnixMilli(p.parse("stale", at)), why
	}
	return t
}

// progress reads what the memo says of a task that is read in parts.
func (t *TaskState) progress() {
	var m struct {
		Memo struct {
			Bounds []int64  `json:"bounds"`
			Read   []string `json:"read"`
			Rows   int64    `json:"rows"`
			Bytes  int64    `json:"bytes"`
			Void   bool     `json:"void"`
		} `json:"memo"`
	}
	if json.Unmarshal(t.Memo, &m) != nil || m.Memo.Void || len(m.Memo.Bounds) == 0 {
		return // it is the source's, or its segments are listed
	}
	t.Rows, t.Parts, t.PartsBytes = m.Memo.Rows, int64(len(m.Memo.Read)), m.Memo.Bytes
	for _, read := range m.Memo.Read {
		if read != "" {
			t.PartsRead++
		}
	}
}

// BytesInParts returns TaskState.PartsBytes for a memo.
func BytesInParts(memo []byte) int64 {
	t := TaskState{Memo: memo}
	t.progress()
	return t.PartsBytes
}

// Took returns how long the query of a task has taken that has found this.
func Took(found string) time.Duration {
	var (
		p parser
		t TaskState
	)
	p.found(found, &t)
	return t.Took
}

// found reads what a task has found: words of the form name=value. The last value extends to the end
// of the text.
func (p *parser) found(text string, t *TaskState) {
	for text != "" {
		word, rest, _ := strings.Cut(text, " ")
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "at":
			t.DoneAt = time.UnixMilli(p.parse(name, value))
		case "ms":
			t.Took = time.Duration(p.parse(name, value)) * time.Millisecond
		case "chunks":
			t.Chunks = p.parse(name, value)
		case "rows":
			t.Rows = p.parse(name, value)
		case "bytes":
			t.Bytes = p.parse(name, value)
		case "parts":
			t.Parts = p.parse(name, value)
		case "snapshot":
			t.Snapshot, _ = url.QueryUnescape(value)
		case "omitted":
			t.Policy = value
		case "columns":
			t.Columns = json.RawMessage(text[len("columns="):])
			return
		case "error":
			t.Failed = text[len("error="):]
			return
		default:
			p.fail(fmt.Errorf("what was found has %.100q", word))
			return
		}
		text = rest
	}
}

// step reads what a state says of the tries of a step.
func (p *parser) step(name string) StepState {
	return StepState{
		Tries: p.number(name + ":tries"), Error: p.fields[name+":error"], Blame: Blame(p.fields[name+":blame"]),
		Next: p.time(name + ":next"),
	}
}

// time returns a field's time, zero if it does not exist.
func (p *parser) time(field string) time.Time {
	if ms := p.number(field); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// number returns a field's integer, 0 if it does not exist.
func (p *parser) number(field string) int64 {
	text, ok := p.fields[field]
	if !ok {
		return 0
	}
	return p.parse(field, text)
}

func (p *parser) parse(field, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail(fmt.Errorf("field %s: %w", field, err))
	}
	return n
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// SplitOf takes report/definition/digest apart.
func SplitOf(of string) (report, definition string) {
	of, _ = cutLast(of)
	return cutLast(of)
}

func cutLast(text string) (before, after string) {
	i := max(0, strings.LastIndexByte(text, '/'))
	return text[:i], strings.TrimPrefix(text[i:], "/")
}
