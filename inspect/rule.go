package inspect

import (
	"slices"
	"strings"
	"time"
)

// The rules of why are tables: why_rules_job.go and why_rules_step.go.

// rule is a list of branches. The first one that holds is its answer.
type rule []branch

// branch is what is said where some facts hold. In its texts {name} stands for a phrase, or for a
// value that is known.
type branch struct {
	when string // names of facts, all of which hold; !name: it does not hold; 1:name: the value is 1; empty: always
	kind Kind   // empty: that of the worst step
	says string
	more []string
	do   []string
	at   string // name of the time when something happens by itself
	then string // what that is
}

// known is what a rule can ask for, by its name.
type known struct {
	is    map[string]bool // =<kind> is the kind of the answer, in notes
	text  map[string]string
	at    map[string]time.Time
	outer *known // what is known of the job, of a step
}

// holds tells whether all facts of a branch hold.
func (k *known) holds(when string) bool {
	for name := range strings.FieldsSeq(when) {
		name, not := strings.CutPrefix(name, "!")
		if k.fact(name) == not {
			return false
		}
	}
	return true
}

// fact is one that is known, or that others make. One that is not known does not hold.
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

// first returns the branch of a rule that holds, or one that says nothing.
func (k *known) first(r rule) branch {
	if i := slices.IndexFunc(r, func(b branch) bool { return k.holds(b.when) }); i >= 0 {
		return r[i]
	}
	return branch{}
}

// answer is what a rule says.
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

// fill puts phrases and values into a text. What they contain is left as it is.
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

// Kinds returns all kinds of verdicts, each once.
func Kinds() []Kind {
	var kinds []Kind
	for _, b := range slices.Concat(jobRule, stepRule) {
		if b.kind != "" && !slices.Contains(kinds, b.kind) {
			kinds = append(kinds, b.kind)
		}
	}
	return kinds
}
