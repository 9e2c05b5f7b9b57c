package inspect

import (
	"slices"
	"strings"
	"time"
)

// The rules of Why are tables, in why_rules_job.go and why_rules_step.go.

// rule is a list of branches. The first one that holds is its answer.
type rule []branch

// branch is an answer and its condition. In its texts {name} is replaced by a phrase or a value.
type branch struct {
	when string // names of facts that must all hold; !name: must not hold; 1:name: the value is 1; empty: always
	kind Kind   // empty: the kind of the worst step
	says string
	more []string
	do   []string
	at   string // name of the time when something will happen
	then string // what will happen
}

// known has the facts, values and times that rules use, by name.
type known struct {
	is    map[string]bool // in notes, =<kind> is the kind of the answer
	text  map[string]string
	at    map[string]time.Time
	outer *known // for a step: the facts of its job
}

// holds reports whether all facts of a condition hold.
func (k *known) holds(when string) bool {
	for name := range strings.FieldsSeq(when) {
		name, not := strings.CutPrefix(name, "!")
		if k.fact(name) == not {
			return false
		}
	}
	return true
}

// fact reports whether a fact holds: a known one, or one of the table made. An unknown fact does
// not hold.
func (k *known) fact(name string) bool {
	for in := k; in != nil; in = in.outer {
		if is, ok := in.is[name]; ok {
			return is
		}
	}
	if of, ok := strings.CutPrefix(name, "1:"); ok {
		return k.value(of) == "1"
	}
	return slices.ContainsFunc(made[name], k.holds)
}

// first returns the first branch of a rule that holds, or an empty one.
func (k *known) first(r rule) branch {
	if i := slices.IndexFunc(r, func(b branch) bool { return k.holds(b.when) }); i >= 0 {
		return r[i]
	}
	return branch{}
}

// answer applies a rule.
func (k *known) answer(r rule) answer {
	b := k.first(r)
	return answer{kind: b.kind, says: k.fill(b.says), more: k.all(b.more), do: k.all(b.do), at: k.time(b.at), then: k.fill(b.then)}
}

func (k *known) time(name string) time.Time {
	for in := k; in != nil; in = in.outer {
		if t, ok := in.at[name]; ok {
			return t
		}
	}
	return time.Time{}
}

func (k *known) all(texts []string) []string {
	var filled []string
	for _, text := range texts {
		filled = append(filled, k.fill(text))
	}
	return filled
}

// fill replaces the names in a text by phrases and values. It does not expand values.
func (k *known) fill(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(k.value(name))
		text = after
	}
}

func (k *known) value(name string) string {
	if r, ok := phrases[name]; ok {
		return k.fill(k.first(r).says)
	}
	for in := k; in != nil; in = in.outer {
		if text, ok := in.text[name]; ok {
			return text
		}
	}
	return ""
}

// Kinds returns all kinds of verdicts, without duplicates.
func Kinds() []Kind {
	var kinds []Kind
	for _, b := range slices.Concat(jobRule, stepRule) {
		if b.kind != "" && !slices.Contains(kinds, b.kind) {
			kinds = append(kinds, b.kind)
		}
	}
	return kinds
}
