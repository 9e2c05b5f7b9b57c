package why

import (
	"slices"
	"strings"
	"time"
)

// rule is an answer and its condition. In its texts, {name} is replaced by a phrase or a value.
type rule struct {
	when     string   // names of facts that must all hold; !name: must not hold; 1:name: the value is 1; empty: always
	kind     Kind     // empty: the kind of the worst step
	severity int      // of a step: of all steps of a job, the one with the highest severity is the worst
	says     string   // one sentence
	more     []string // further sentences
	do       []string // remedies
	at       string   // name of the time when something will happen
	then     string   // what will happen
}

// rules are alternatives. The first one that holds is the answer.
type rules []rule

// answer says what a job, or one of its steps, waits for.
type answer struct {
	kind     Kind
	severity int
	says     string    // one sentence
	more     []string  // further sentences
	do       []string  // remedies
	at       time.Time // when something will happen; zero: nothing will, or it is not known
	then     string    // what will happen
}

// table names the facts, values and times of a subject.
type table[T any] struct {
	is   map[string]func(T) bool
	text map[string]func(T) string
	at   map[string]func(T) time.Time
}

// scope looks up names of a subject. It returns false if it does not know a name.
type scope interface {
	fact(name string) (is, ok bool)
	value(name string) (text string, ok bool)
	time(name string) (at time.Time, ok bool)
}

// subject is a scope: a subject and its table.
type subject[T any] struct {
	of    T
	table *table[T]
}

func (s subject[T]) fact(name string) (is, ok bool) {
	f, ok := s.table.is[name]
	return ok && f(s.of), ok
}

func (s subject[T]) value(name string) (text string, ok bool) {
	if f, ok := s.table.text[name]; ok {
		return f(s.of), true
	}
	return "", false
}

func (s subject[T]) time(name string) (at time.Time, ok bool) {
	if f, ok := s.table.at[name]; ok {
		return f(s.of), true
	}
	return time.Time{}, false
}

// known has what rules can name: the first scope that knows a name counts.
type known struct {
	scopes []scope
	kind   Kind // of the answer, which notes name as =<kind>
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
	if kind, ok := strings.CutPrefix(name, "="); ok {
		return k.kind == Kind(kind)
	}
	if of, ok := strings.CutPrefix(name, "1:"); ok {
		return k.value(of) == "1"
	}
	for _, s := range k.scopes {
		if is, ok := s.fact(name); ok {
			return is
		}
	}
	return slices.ContainsFunc(made[name], k.holds)
}

// first returns the first rule that holds, or an empty one.
func (k *known) first(all rules) rule {
	if i := slices.IndexFunc(all, func(r rule) bool { return k.holds(r.when) }); i >= 0 {
		return all[i]
	}
	return rule{}
}

// answer applies rules.
func (k *known) answer(all rules) answer {
	r := k.first(all)
	return answer{r.kind, r.severity, k.fill(r.says), k.all(r.more), k.all(r.do), k.time(r.at), k.fill(r.then)}
}

func (k *known) time(name string) time.Time {
	for _, s := range k.scopes {
		if at, ok := s.time(name); ok {
			return at
		}
	}
	return time.Time{}
}

func (k *known) all(texts []string) []string {
	var filled []string
	for _, text := range texts {
		if text = k.fill(text); text != "" {
			filled = append(filled, text)
		}
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
	if phrase, ok := phrases[name]; ok {
		return k.fill(k.first(phrase).says)
	}
	for _, s := range k.scopes {
		if text, ok := s.value(name); ok {
			return text
		}
	}
	return ""
}

// Kinds returns all kinds of verdicts, without duplicates.
func Kinds() []Kind { return kindsOf(jobRules, stepRules) }

// StepKinds returns all kinds of steps, without duplicates.
func StepKinds() []Kind { return kindsOf(stepRules) }

func kindsOf(all ...rules) []Kind {
	var kinds []Kind
	for _, r := range slices.Concat(all...) {
		if r.kind != "" && !slices.Contains(kinds, r.kind) {
			kinds = append(kinds, r.kind)
		}
	}
	return kinds
}
