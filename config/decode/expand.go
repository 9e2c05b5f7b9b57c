package decode

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold/report"
)

var (
	// variableUse is where a variable stands, or ${ for itself.
	variableUse = regexp.MustCompile(`\$\$\{|\$\{[^}]*\}?`)
	// variableForm is what may stand between ${ and }.
	variableForm = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-(?s:(.*)))?$`)
)

// expand puts the values of variables into a text:
//
//	${NAME}           the variable's value; it must be set, but may be empty
//	${NAME:-default}  default, where the variable is not set or is empty
//	$${               the characters ${
//
// A default ends at the first }, and has no variables in it. Every other $ stands for
// itself. The mistake holds the name of a variable, never a value. It works on scalars that
// have been parsed, so no value can change the structure of the file.
func expand(text string, lookup func(string) (string, bool)) (string, *report.Mistake) {
	var wrong *report.Mistake
	text = variableUse.ReplaceAllStringFunc(text, func(use string) (value string) {
		inside, closed := strings.CutSuffix(use[2:], "}")
		switch {
		case use == "$${":
			return "${"
		case wrong != nil:
		case !closed:
			wrong = &report.Mistake{Message: "a variable that begins with ${ does not end", Remedy: "Close it with }, or write $${ for the characters themselves"}
		default:
			value, wrong = variable(inside, lookup)
		}
		return value
	})
	return text, wrong
}

// variable gives the value for what stands between ${ and }.
func variable(inside string, lookup func(string) (string, bool)) (string, *report.Mistake) {
	form := variableForm.FindStringSubmatch(inside)
	if form == nil {
		return "", &report.Mistake{Message: "what stands between ${ and } is no variable", Remedy: "Write ${NAME} or ${NAME:-default}, or $${ for the characters themselves"}
	}
	value, set := lookup(form[1])
	switch {
	case form[2] != "" && value == "":
		return form[3], nil
	case !set:
		return "", &report.Mistake{Message: fmt.Sprintf("the environment variable %s is not set", form[1]), Remedy: fmt.Sprintf("Set it, or give a default: ${%s:-default}", form[1])}
	}
	return value, nil
}
