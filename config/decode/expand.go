package decode

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold/report"
)

var (
	// variableUse matches the use of a variable, and an escaped ${.
	variableUse = regexp.MustCompile(`\$\$\{|\$\{[^}]*\}?`)
	// variableForm matches the text between ${ and }.
	variableForm = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-(?s:(.*)))?$`)
)

// expand replaces variables in a text by their values:
//
//	${NAME}           the variable's value; it must be set, but may be empty
//	${NAME:-default}  default, if the variable is not set or empty
//	$${               the characters ${
//
// A default ends at the first } and cannot contain variables. Every other $ is literal.
// The mistake contains the name of a variable, never its value. It expands parsed
// scalars, so no value can change the structure of the file.
func expand(text string, lookup func(string) (string, bool)) (string, *report.Mistake) {
	var wrong *report.Mistake
	text = variableUse.ReplaceAllStringFunc(text, func(use string) (value string) {
		inside, closed := strings.CutSuffix(use[2:], "}")
		switch {
		case use == "$${":
			return "${"
		case wrong != nil:
		case !closed:
			wrong = &report.Mistake{Message: "a variable that begins with ${ is not closed",
				Remedy: "Add the }, or write $${ for a literal ${"}
		default:
			value, wrong = variable(inside, lookup)
		}
		return value
	})
	return text, wrong
}

// variable returns the value for the text between ${ and }.
func variable(inside string, lookup func(string) (string, bool)) (string, *report.Mistake) {
	form := variableForm.FindStringSubmatch(inside)
	if form == nil {
		return "", &report.Mistake{Message: "the text between ${ and } is not a variable",
			Remedy: "Write ${NAME} or ${NAME:-default}, or $${ for a literal ${"}
	}
	value, set := lookup(form[1])
	switch {
	case form[2] != "" && value == "":
		return form[3], nil
	case !set:
		return "", &report.Mistake{Message: fmt.Sprintf("the environment variable %s is not set", form[1]),
			Remedy: fmt.Sprintf("Set it, or give a default: ${%s:-default}", form[1])}
	}
	return value, nil
}
