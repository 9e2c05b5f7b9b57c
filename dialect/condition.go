package dialect

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// CheckCondition checks SQL that becomes part of a WHERE in parentheses and must not
// end them. It returns nil if the SQL is valid.
func (d *Dialect) CheckCondition(text string) *report.Mistake {
	const remedy = "Write a condition, such as type = 'export'"
	tokens, wrong := d.tokenize(text)
	if wrong != nil {
		return &wrong.Mistake
	}
	depth, count := 0, 0
	for _, t := range tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case t.kind == tokenSpace && strings.TrimSpace(t.text) != "":
			return &report.Mistake{Message: "a condition cannot contain a comment", Remedy: remedy}
		case t.is(";"), t.is("?"), t.kind == tokenParameter:
			return &report.Mistake{Message: fmt.Sprintf("%q is not allowed in a condition", t.text), Remedy: remedy}
		}
		if t.kind != tokenSpace {
			count++
		}
		if depth < 0 {
			break
		}
	}
	switch {
	case depth != 0:
		return &report.Mistake{Message: "the parentheses do not match", Remedy: remedy}
	case count == 0:
		return &report.Mistake{Message: "the condition is empty", Remedy: "Remove filter if Fanfold owns all rows"}
	}
	return nil
}
