package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/report"
)

// function is a function of one row.
type function struct {
	min, max int // number of arguments; max -1: any
	make     func(c *call) *Expr
}

// call is a call of a function.
type call struct {
	*parse.Call
	args []*Expr
}

// functions are all functions, by name. Those of texts are in text.go, those of dates in date.go.
var functions map[string]function

func init() {
	functions = map[string]function{
		"IF":       {3, 3, ifThen},
		"IFNULL":   {2, 2, coalesce},
		"NVL":      {2, 2, coalesce},
		"NVL2":     {3, 3, ifNotNull},
		"COALESCE": {1, -1, coalesce},
		"NULLIF":   {2, 2, nullIf},
		"ISNULL":   {1, 1, func(c *call) *Expr { return is(c.args[0], parse.Null, false) }},
		"LEAST":    {2, -1, func(c *call) *Expr { return extreme(c, -1) }},
		"GREATEST": {2, -1, func(c *call) *Expr { return extreme(c, 1) }},

		"ABS":      {1, 1, absolute},
		"SIGN":     {1, 1, sign},
		"MOD":      {2, 2, func(c *call) *Expr { return arithmetic("%", c.args[0], c.args[1]) }},
		"ROUND":    {1, 2, func(c *call) *Expr { return round(c, true) }},
		"TRUNCATE": {2, 2, func(c *call) *Expr { return round(c, false) }},
		"FLOOR":    {1, 1, func(c *call) *Expr { return whole(c, math.Floor, -1) }},
		"CEIL":     {1, 1, func(c *call) *Expr { return whole(c, math.Ceil, 1) }},
		"CEILING":  {1, 1, func(c *call) *Expr { return whole(c, math.Ceil, 1) }},
		"SQRT":     {1, 1, root},
		"POW":      {2, 2, pow},
		"POWER":    {2, 2, pow},
	}
	maps.Copy(functions, textFunctions)
	maps.Copy(functions, dateFunctions)
	maps.Copy(functions, timeFunctions)
}

// Names returns the names of all functions, without aggregates, sorted.
func Names() []string {
	return slices.Sorted(maps.Keys(functions))
}

// changing are functions whose result is another in every run.
var changing = map[string]string{
	"NOW": "datetime", "CURRENT_TIMESTAMP": "datetime", "SYSDATE": "datetime", "UTC_TIMESTAMP": "datetime",
	"CURTIME": "datetime", "CURDATE": "date", "CURRENT_DATE": "date", "UTC_DATE": "date",
	"RAND": "", "UUID": "", "CONNECTION_ID": "", "USER": "",
}

// functionsRemedy names the function that was meant, and where all of them are.
func functionsRemedy(name string) string {
	const page = "docs/reference/configuration.md#fold lists the functions"
	if near := report.Nearest(name, append(Names(), aggregateNames()...)); near != "" {
		return fmt.Sprintf("Did you mean %q? %s", near, page)
	}
	return "Compute the value in the query of a listener: " + page
}

// call compiles a function.
func (s *Scope) call(c *parse.Call) *Expr {
	args := s.compileAll(c.Args)
	if IsAggregate(c) {
		refuse(c.Position, fmt.Sprintf("%s cannot stand here", c.Name),
			"Use it in the SELECT, in HAVING or in ORDER BY, and not inside of another one")
	}
	f, ok := functions[c.Name]
	if kind, is := changing[c.Name]; is && !ok {
		remedy := "A file that a crash interrupts is made again, and must have the same bytes: compute the value in the query of a listener"
		if kind != "" {
			remedy = fmt.Sprintf("A file that a crash interrupts is made again, and must have the same bytes: declare a parameter, such as at: {type: %s}, and write :at", kind)
		}
		refuse(c.Position, c.Name+" has another result in every run", remedy)
	}
	if !ok {
		refuse(c.Position, fmt.Sprintf("a fold has no function %s", c.Name),
			functionsRemedy(c.Name))
	}
	if c.Star || c.Distinct || c.OrderBy != nil || c.Separator != nil {
		refuse(c.Position, fmt.Sprintf("%s is no aggregate", c.Name), "Write its arguments alone")
	}
	if n := len(c.Args); n < f.min || f.max >= 0 && n > f.max {
		refuse(c.Position, fmt.Sprintf("%s with %d arguments", c.Name, n), arity(f))
	}
	if _, ok := dateFunctions[c.Name]; ok {
		refuseTimes(c.Position, c.Name, args...)
	}
	return f.make(&call{c, args})
}

// arity says how many arguments a function takes.
func arity(f function) string {
	switch {
	case f.max < 0:
		return fmt.Sprintf("It takes at least %d", f.min)
	case f.min == f.max:
		return fmt.Sprintf("It takes %d", f.min)
	}
	return fmt.Sprintf("It takes %d to %d", f.min, f.max)
}
