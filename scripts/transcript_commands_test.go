package scripts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// jobCommands are those about the job, whoever gives them.
var jobCommands = map[string]func(p *player, ctx context.Context, w words) (string, error){
	"clean": func(p *player, ctx context.Context, _ words) (string, error) { // a story ends: nothing of it is left
		keys := append(p.client.Keys(ctx, p.s.Keys.Prefix+"*").Val(), p.client.Keys(ctx, p.s.Keys.Hash+"*").Val()...)
		p.seen, p.hands, p.labels, p.count, p.told = nil, map[string]*hand{}, map[string]string{}, map[string]int{}, "-"
		return "done", p.client.Del(ctx, keys...).Err()
	},
	"push": func(p *player, ctx context.Context, _ words) (string, error) {
		return "done", p.client.XAdd(ctx, &redis.XAddArgs{Stream: p.s.Keys.Jobs, Values: []string{"id", jobID}}).Err()
	},
	"start": func(p *player, ctx context.Context, w words) (string, error) { // attempt listeners [timeout=] [parameters=] [report=] [definition=] [by=] [keep=listeners, for an hour] [reuse=listeners from=attempt]
		start := Start{ID: jobID, Attempt: w.number(1), Parameters: []byte(w.option("parameters", "{}"))}
		start.Plan = Plan{Report: w.option("report", "r"), Definition: w.option("definition", "d1"), Timeout: p.duration(w.option("timeout", "1h")), Listeners: w.at(2)}
		if names, ok := w.options["keep"]; ok {
			keep := job.Keep{For: time.Hour, Definitions: map[string]string{}}
			for name := range strings.SplitSeq(names, ",") {
				keep.Definitions[name] = "0a"
			}
			start.Keep = keep.String()
		}
		if from, ok := w.options["from"]; ok {
			n, _ := strconv.ParseInt(from, 10, 64)
			start.Reuse = &Reuse{Attempt: n, Listeners: strings.FieldsFunc(w.option("reuse", ""), func(r rune) bool { return r == ',' })}
		}
		if by, ok := w.options["by"]; ok {
			start.Entry = p.hands[by].entry.ID
		}
		outcomes, err := p.s.Jobs.Start(ctx, w.option("epoch", ""), start)
		if err != nil {
			return "", err
		}
		return outcomes[0].String(), nil
	},
	"cancel": func(p *player, ctx context.Context, w words) (string, error) { // attempt
		outcome, status, err := p.s.Jobs.Cancel(ctx, jobID, w.number(1), "not needed")
		return strings.TrimSpace(outcome.String() + " " + status), err
	},
	"preempt": func(p *player, ctx context.Context, w words) (string, error) { // attempt older
		outcome, err := p.s.Memory.Preempt(ctx, Contender{ID: jobID, Attempt: w.number(1)}, Contender{ID: w.at(2), Since: time.UnixMilli(1)})
		return outcome.String(), err
	},
	"turn": func(p *player, ctx context.Context, _ words) (string, error) {
		turns, err := p.s.Memory.Turns(ctx, []string{jobID})
		turn, ok := turns[jobID]
		switch {
		case !ok:
			return "it was not preempted", err
		case turn.After != "":
			return "after " + turn.After, err
		}
		return "now", err
	},
	"expire": func(p *player, ctx context.Context, _ words) (string, error) {
		outcome, _, err := p.s.Jobs.Expire(ctx, jobID)
		return outcome.String(), err
	},
	"passed": func(p *player, ctx context.Context, _ words) (string, error) {
		found, err := p.s.Clock.Passed(ctx, 0, 10)
		return fmt.Sprint(found.Passed), err
	},
	"due": func(p *player, ctx context.Context, w words) (string, error) { // member: its time has come
		later, err := job.ParseLater(w.at(1))
		if err != nil {
			return "", err
		}
		p.client.ZAdd(ctx, p.s.Keys.Delayed, redis.Z{Member: w.at(1), Score: float64(time.Now().Add(-time.Minute).UnixMilli())})
		stream, listener := p.s.Keys.FanIn, ""
		if later.Step[0] != '@' {
			stream, listener = p.s.Keys.Task(later.Step), later.Step
		}
		late, unknown, err := p.s.Clock.Move(ctx, stream, listener, []Move{{Member: w.at(1), ID: jobID, Field: "attempt", Value: fmt.Sprint(later.Attempt)}})
		if len(unknown) > 0 {
			return "unknown: " + unknown[0].Reason, err
		}
		return fmt.Sprintf("moved %d", len(late)), err
	},
	"resend": func(p *player, ctx context.Context, w words) (string, error) { // step attempt: if its message is lost
		m := Message{jobID, w.number(2)}
		lost, err := p.s.Streams.Lost(ctx, w.at(1), []Message{m})
		entry, ok := lost[m]
		if err != nil || !ok {
			return "not lost", err
		}
		outcome, err := p.s.Streams.Resend(ctx, m, w.at(1), entry)
		return outcome.String(), err
	},
	"reopen": func(p *player, ctx context.Context, w words) (string, error) { // attempt listener delay error [at=ticket, with + for spaces]
		at := strings.ReplaceAll(w.option("at", p.client.HGet(ctx, p.s.Keys.Job(jobID), w.at(2)+":at").Val()), "+", " ")
		outcome, err := p.s.Folds.Reopen(ctx, Reopen{Message{jobID, w.number(1)}, w.at(2), at, w.at(4), p.duration(w.at(3))})
		return outcome.String(), err
	},
	"spoil": func(p *player, ctx context.Context, w words) (string, error) { // attempt listener
		at := p.client.HGet(ctx, p.s.Keys.Job(jobID), w.at(2)+":at").Val()
		outcome, err := p.s.Folds.Spoil(ctx, Reopen{Message: Message{jobID, w.number(1)}, Listener: w.at(2), At: at})
		return outcome.String(), err
	},
	"repair": func(p *player, ctx context.Context, _ words) (string, error) {
		outcome, err := p.s.Clock.Repair(ctx, jobID)
		return outcome.String(), err
	},
	"discard": func(p *player, ctx context.Context, _ words) (string, error) {
		outcome, err := p.s.Jobs.Discard(ctx, jobID)
		return outcome.String(), err
	},
	"garble": func(p *player, ctx context.Context, _ words) (string, error) { // another program writes the field job
		return "done", p.client.HSet(ctx, p.s.Keys.Job(jobID), "job", "1 RUN").Err()
	},
	"lose": func(p *player, ctx context.Context, w words) (string, error) { // hash, tombstone, delayed, deadlines, wake, or the stream of a step
		return "done", p.client.Del(ctx, p.key(w.at(1))).Err()
	},
	"duplicate": func(p *player, ctx context.Context, w words) (string, error) { // step attempt: a message of it once more
		return "done", p.client.XAdd(ctx, &redis.XAddArgs{Stream: p.key(w.at(1)), Values: []string{"id", jobID, "attempt", w.at(2)}}).Err()
	},
	"break": func(p *player, ctx context.Context, w words) (string, error) { // hash, …: it is a key of another type
		p.client.Del(ctx, p.key(w.at(1)))
		return "done", p.client.SetBit(ctx, p.key(w.at(1)), 1, 1).Err()
	},
	"kept-until": func(p *player, ctx context.Context, w words) (string, error) { // listener seconds: until when its dataset is kept
		key := p.s.Keys.Kept(jobID)
		attempt, _, _ := strings.Cut(p.client.HGet(ctx, key, w.at(1)+":kept").Val(), " ")
		until := time.Now().Add(time.Duration(w.number(2)) * time.Second).UnixMilli()
		return "done", p.client.HSet(ctx, key, w.at(1)+":kept", fmt.Sprint(attempt, " ", until)).Err()
	},
	"fall-silent": func(p *player, ctx context.Context, w words) (string, error) { // listener: the lease of its owner ends
		return "done", p.client.HSet(ctx, p.s.Keys.Job(jobID), w.at(1)+":lease", 1).Err()
	},
}

// key names one of the keys of the job, or of a step.
func (p *player) key(name string) string {
	switch name {
	case "hash":
		return p.s.Keys.Job(jobID)
	case "tombstone":
		return p.s.Keys.Ended(jobID)
	case "kept":
		return p.s.Keys.Kept(jobID)
	case "delayed":
		return p.s.Keys.Delayed
	case "deadlines":
		return p.s.Keys.Deadlines
	case "wake":
		return p.s.Keys.Wake
	case "events":
		return p.s.Keys.Events
	case job.StepFanIn:
		return p.s.Keys.FanIn
	case "@jobs":
		return p.s.Keys.Jobs
	}
	return p.s.Keys.Task(name)
}

// entryCommands give entries to workers.
var entryCommands = map[string]func(p *player, ctx context.Context, w words) (string, error){
	"read": func(p *player, _ context.Context, w words) (string, error) { // step worker [large]: as XREADGROUP
		stream := p.key(w.at(1))
		if w.has("large") {
			stream = p.s.Keys.FanInLarge
		}
		entry, fields, ok := read(p.t, p.s, stream, w.at(2))
		if !ok {
			return "nothing", nil
		}
		return p.give(&hand{worker: w.at(2), step: w.at(1), entry: entry}, fields), nil
	},
	"takeover": func(p *player, ctx context.Context, w words) (string, error) { // step worker from=worker: as XAUTOCLAIM, then take or claim
		from := p.hands[w.option("from", "")]
		got, err := p.client.XClaim(ctx, &redis.XClaimArgs{Stream: from.entry.Stream, Group: Group, Consumer: w.at(2), Messages: []string{from.entry.ID}}).Result()
		if err != nil || len(got) == 0 {
			return "nothing", err
		}
		fields := map[string]string{}
		for name, value := range got[0].Values {
			fields[name], _ = value.(string)
		}
		h := &hand{worker: w.at(2), step: w.at(1), entry: from.entry}
		h.entry.Consumer = w.at(2)
		p.give(h, fields)
		if w.has("slowly") { // its take or claim comes later
			return "its entry", nil
		}
		if w.at(1) == job.StepFanIn {
			return p.claim(ctx, h, w, true)
		}
		return p.take(ctx, h.task, w, true)
	},
	"ack": func(p *player, ctx context.Context, w words) (string, error) { // worker
		e := p.hands[w.at(1)].entry
		return "done", p.s.Streams.Ack(ctx, e.Stream, e.ID)
	},
	"move-to-end": func(p *player, ctx context.Context, w words) (string, error) { // worker
		e := p.hands[w.at(1)].entry
		found, err := p.client.XRange(ctx, e.Stream, e.ID, e.ID).Result()
		if err != nil || len(found) == 0 {
			return "it is gone", err
		}
		for range 2 { // the answer to the first call is lost
			err = errors.Join(err, p.s.Streams.MoveToEnd(ctx, e))
		}
		return "done", err
	},
	"invent": func(p *player, _ context.Context, w words) (string, error) { // step worker attempt= [generation=]: one that is made up
		h := &hand{worker: w.at(2), step: w.at(1), entry: Entry{Stream: p.key(w.at(1)), Consumer: w.at(2), ID: "1-1"}}
		p.give(h, map[string]string{"id": jobID, "attempt": w.option("attempt", "1"), "stage": w.option("stage", "0")})
		if h.task != nil {
			h.task.Generation = w.optionNumber("generation")
		}
		return "done", nil
	},
}

// give gives an entry to a worker and says what that can do with it.
func (p *player) give(h *hand, fields map[string]string) string {
	p.hands[h.worker] = h
	h.entry.Fields = fields
	m, ok := h.entry.Message()
	h.message = m
	switch {
	case h.step == "@jobs":
		return "id " + fields["id"]
	case !ok:
		return fmt.Sprintf("it is none: %v", fields)
	case h.step == job.StepFanIn:
		h.stage, _ = strconv.ParseInt(fields["stage"], 10, 64)
		if fields["bytes"] != "" {
			return fmt.Sprintf("stage %d, %s bytes", h.stage, fields["bytes"])
		}
		return "to be claimed"
	case fields["cancel"] != "":
		return "cancelled, memo=" + fields["memo"]
	}
	task, first := p.s.Tasks.New(m, h.step, h.entry)
	h.task = task
	if !first {
		return "to be taken"
	}
	return fmt.Sprintf("first delivery: %s %s %s", task.Report, task.Definition, task.Parameters)
}

// take takes a task: [definition=] [once] [lease=] [owner=].
func (p *player) take(ctx context.Context, t *Task, w words, silent bool) (string, error) {
	t.Lease = p.duration(w.option("lease", ""))
	outcome, err := t.Take(ctx, Take{
		Owner: w.option("owner", t.Entry.Consumer), Known: []string{"d0", w.option("definition", "d1")}, Redelivered: silent || w.has("silent"), Once: w.has("once"),
	})
	if err != nil || outcome != OK {
		return outcome.String(), err
	}
	text := fmt.Sprintf("ok %s %s %s try=%d generation=%d", t.Report, t.Definition, t.Parameters, t.Tries, t.Generation)
	if t.Memo != nil {
		text += fmt.Sprintf(" memo=%s", t.Memo)
	}
	if t.Failure != "" {
		text += ": " + t.Failure
	}
	return text, nil
}

// claim claims a job: [definition=] [worker=].
func (p *player) claim(ctx context.Context, h *hand, w words, silent bool) (string, error) {
	outcome, fold, err := p.s.Folds.Claim(ctx, Claim{
		Message: h.message, Stage: h.stage, Worker: h.worker, Known: []string{w.option("definition", "d1")}, Redelivered: silent || w.has("silent"), Entry: h.entry,
	})
	if fold == nil {
		return outcome.String(), err
	}
	h.fold = fold
	return fmt.Sprintf("%v fence=%d try=%d", outcome, fold.Fence, fold.Fold.Tries), err
}

// again reads how a step is tried again: delay counts|free|waits [error].
func (p *player) again(w words, i int) Requeue {
	return Requeue{Delay: p.duration(w.at(i)), Counts: w.at(i+1) == "counts", Waits: w.at(i+1) == "waits", Error: w.at(i + 2), Blame: job.Blame(w.option("blame", ""))}
}

// taskCommands are those of a worker that has a task; the word after the command is its name.
var taskCommands = map[string]func(p *player, ctx context.Context, h *hand, w words) (string, error){
	"take": func(p *player, ctx context.Context, h *hand, w words) (string, error) {
		return p.take(ctx, h.task, w, false)
	},
	"append": taskCommand(func(p *player, ctx context.Context, t *Task, w words) (Outcome, error) { // worker number values
		return t.Append(ctx, chunkOf(w.number(2), w.at(3)))
	}),
	"store": func(_ *player, ctx context.Context, h *hand, w words) (string, error) { // worker number values
		outcome, err := h.task.Store(ctx, chunkOf(w.number(2), w.at(3)))
		return storedText(outcome, h.task.Stored), err
	},
	"total": func(_ *player, ctx context.Context, h *hand, w words) (string, error) { // worker chunks
		outcome, err := h.task.SetTotal(ctx, w.number(2))
		return storedText(outcome, h.task.Stored), err
	},
	"list": taskCommand(func(_ *player, ctx context.Context, t *Task, w words) (Outcome, error) { // worker number chunks,rows,bytes,checksum: a segment
		return t.List(ctx, segmentOf(w.option("at", "file:///s/"+t.Listener+"="), w.number(2), w.at(3)))
	}),
	"complete": taskCommand(func(_ *player, ctx context.Context, t *Task, w words) (Outcome, error) { // worker number values
		return t.Complete(ctx, chunkOf(w.number(2), w.at(3)), 7*time.Millisecond)
	}),
	"finish": taskCommand(func(_ *player, ctx context.Context, t *Task, w words) (Outcome, error) { // worker number: the last chunk is stored
		return t.Complete(ctx, Chunk{Number: w.number(2)}, 7*time.Millisecond)
	}),
	"remember": taskCommand(func(_ *player, ctx context.Context, t *Task, w words) (Outcome, error) { // worker memo
		return t.Remember(ctx, []byte(w.at(2)))
	}),
	"renew": taskCommand(func(_ *player, ctx context.Context, t *Task, _ words) (Outcome, error) { return t.Renew(ctx) }),
	"load":  taskCommand(func(_ *player, ctx context.Context, t *Task, _ words) (Outcome, error) { return t.Load(ctx) }),
	"fail": taskCommand(func(_ *player, ctx context.Context, t *Task, w words) (Outcome, error) { // worker reason
		return t.Fail(ctx, w.at(2), job.BlameSource)
	}),
	"omit": taskCommand(func(_ *player, ctx context.Context, t *Task, w words) (Outcome, error) { // worker reason
		return t.Omit(ctx, "optional", w.at(2))
	}),
	"requeue": taskCommand(func(p *player, ctx context.Context, t *Task, w words) (Outcome, error) { // worker delay counts|free|waits [error] [blame=]
		return t.Requeue(ctx, p.again(w, 2))
	}),
	"hand-back": taskCommand(func(_ *player, ctx context.Context, t *Task, _ words) (Outcome, error) { return OK, t.HandBack(ctx) }),
}

func taskCommand(run func(p *player, ctx context.Context, t *Task, w words) (Outcome, error)) func(*player, context.Context, *hand, words) (string, error) {
	return func(p *player, ctx context.Context, h *hand, w words) (string, error) {
		outcome, err := run(p, ctx, h.task, w)
		return outcome.String(), err
	}
}

func storedText(outcome Outcome, stored Stored) string {
	if outcome != OK {
		return outcome.String()
	}
	return fmt.Sprintf("ok chunks=%d last=%d total=%d", stored.Chunks, stored.Last, stored.Total)
}

// foldCommands are those of a worker that has an entry of the fan-in stream.
var foldCommands = map[string]func(p *player, ctx context.Context, h *hand, w words) (string, error){
	"claim": func(p *player, ctx context.Context, h *hand, w words) (string, error) {
		return p.claim(ctx, h, w, false)
	},
	"open": func(p *player, ctx context.Context, h *hand, _ words) (string, error) { // its data, without a claim
		folds, err := p.s.Folds.Open(ctx, []Small{{Message: h.message, Stage: h.stage, Entry: h.entry}})
		if err != nil || folds[0] == nil {
			return "nothing", err
		}
		h.fold = folds[0]
		return fmt.Sprintf("ok try=%d", h.fold.Fold.Tries), nil
	},
	"publish": foldCommand(func(p *player, ctx context.Context, f *Fold, _ words) (Outcome, error) {
		outcomes, err := p.s.Folds.Publish(ctx, f)
		return outcomes[0], err
	}),
	"publish-lost": foldCommand(func(p *player, ctx context.Context, f *Fold, _ words) (Outcome, error) { // its answer is lost
		lost := *f
		lost.State = new(job.State)
		*lost.State = *f.State
		outcomes, err := p.s.Folds.Publish(ctx, &lost)
		return outcomes[0], err
	}),
	"advance": foldCommand(func(_ *player, ctx context.Context, f *Fold, w words) (Outcome, error) { // worker listeners
		return f.Advance(ctx, strings.Split(w.at(2), ","))
	}),
	"renew": foldCommand(func(_ *player, ctx context.Context, f *Fold, _ words) (Outcome, error) { return f.Renew(ctx) }),
	"fail": foldCommand(func(_ *player, ctx context.Context, f *Fold, w words) (Outcome, error) { // worker reason [remove]
		return f.Fail(ctx, w.at(2), job.BlameSink, w.has("remove"))
	}),
	"requeue": foldCommand(func(p *player, ctx context.Context, f *Fold, w words) (Outcome, error) { // worker step delay counts|free [error]
		return f.Requeue(ctx, w.at(2), p.again(w, 3))
	}),
	"settle": foldCommand(func(p *player, ctx context.Context, f *Fold, w words) (Outcome, error) { // worker status detail
		outcomes, err := p.s.Folds.Settle(ctx, End{Fold: f, Status: w.at(2), Detail: w.at(3)})
		return outcomes[0], err
	}),
	"hand-back": func(p *player, ctx context.Context, h *hand, _ words) (string, error) {
		return "ok", p.s.Folds.HandBack(ctx, h.message, h.entry)
	},
}

// foldCommand is a command that needs a job in hand.
func foldCommand(run func(p *player, ctx context.Context, f *Fold, w words) (Outcome, error)) func(*player, context.Context, *hand, words) (string, error) {
	return func(p *player, ctx context.Context, h *hand, w words) (string, error) {
		if h.fold == nil {
			return "", errors.New("it has no job in hand")
		}
		outcome, err := run(p, ctx, h.fold, w)
		return outcome.String(), err
	}
}
