package inspect

import (
	"regexp"
	"time"
)

// rule is one line of a table that says what keeps a job (of judged) or one of its steps
// (of stepFacts). The first line of a table that holds is the answer, so the order of the
// lines is the logic. In texts, {name} stands for a word of the table.
type rule[F any] struct {
	kind Kind // empty: that of the worst step
	when func(F) bool
	says string            // one sentence
	more []string          // sentences that tell more
	do   []string          // what can be done about it
	at   func(F) time.Time // when something happens by itself; nil: nothing does, or it is not known
	then string            // what that is
}

// note is a line of a table all of whose lines count that hold.
type note struct {
	when func(*judged) bool
	says string
	at   func(*judged) time.Time // when that happens; nil: it is so now
}

// first finds the first rule that holds, and its place in the table; nil where none does.
func first[F any](rules []rule[F], facts F) (*rule[F], int) {
	for i := range rules {
		if rules[i].when(facts) {
			return &rules[i], i
		}
	}
	return nil, len(rules)
}

// words are what can stand in braces in the texts of a table.
type words[F any] map[string]func(F) string

var inBraces = regexp.MustCompile(`\{([a-zA-Z]+)\}`)

// fill puts words into a text.
func (w words[F]) fill(facts F, text string) string {
	return inBraces.ReplaceAllStringFunc(text, func(name string) string { return w[name[1:len(name)-1]](facts) })
}
