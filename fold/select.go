package fold

import (
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/report"
)

// Parameters returns the values of parameters for the expressions of a fold. Those of a record have been bound, so
// every declared parameter has one.
func Parameters(declared []report.Parameter, bound map[string]any) expr.Parameters {
	return func(name string) (p expr.Parameter, ok bool) {
		i := slices.IndexFunc(declared, func(p report.Parameter) bool { return p.Name == name })
		if i < 0 {
			return p, false
		}
		given, isList := bound[name].([]any)
		if !isList {
			given = []any{bound[name]}
		}
		for _, v := range given {
			t := value.Type{Kind: parameterKinds[declared[i].Type], Scale: value.Floating}
			if _, instant := v.(time.Time); instant {
				t.Zone = value.Instant
			}
			p.Values, p.Types = append(p.Values, parameterValue(v, t.Kind)), append(p.Types, t)
		}
		p.List = declared[i].List
		return p, true
	}
}

// parameterKinds are the kinds of the types of parameters.
var parameterKinds = map[report.ParameterType]value.Kind{
	report.ParamString: value.Text, report.ParamInteger: value.Integer, report.ParamDecimal: value.Decimal,
	report.ParamBoolean: value.Integer, report.ParamDate: value.Date, report.ParamDatetime: value.Datetime,
}

// parameterValue returns a bound value as one of an expression.
func parameterValue(bound any, kind value.Kind) value.Value {
	switch v := bound.(type) {
	case int64:
		return value.OfInt(v)
	case uint64:
		return value.OfUint(v)
	case bool:
		return value.OfBool(v)
	case time.Time:
		return value.OfTime(v)
	case string:
		text := value.OfText([]byte(v))
		if kind == value.Decimal {
			return value.OfDec(text.ToDec())
		}
		return text.As(kind)
	}
	return value.Value{}
}

// NamesOf returns the plan of a report's SELECT by the names of its columns alone: their types are not known before the
// queries run. Listeners that it does not find in the report, or that have no columns yet, are missing. The error is
// parse.Errors.
func NamesOf(r *report.Report, parameters expr.Parameters) (*query.Plan, error) {
	tree, err := parse.Parse(Select(r))
	if err != nil {
		return nil, err
	}
	sets := map[string]query.Dataset{}
	for _, l := range r.Listeners() {
		sets[l.Name] = namesOf(l)
	}
	return query.New(tree, sets, parameters)
}

// Needed returns the columns that the SELECT of a valid report uses, by listener, in the order of the listener. The map
// has every listener that it reads.
func Needed(r *report.Report) map[string][]string {
	q, err := NamesOf(r, Parameters(r.Parameters, nil))
	if err != nil {
		return map[string][]string{} // config has validated it
	}
	return q.Needed()
}

// Stored returns the columns of every listener that are stored, because the fold, the file or a query of a later stage
// uses them; all of a listener that is missing. The service of an external listener can read any column of the stages
// before its own, and a listener that nothing else uses is one for such a service: these are stored as a whole. It also
// returns the listeners whose rows services may read.
func Stored(r *report.Report) (columns map[string][]string, services map[string]bool) {
	columns, services = Needed(r), map[string]bool{}
	lastExternal := 0 // stage
	for stage, l := range r.Listeners() {
		if l.From != nil && !slices.Contains(columns[l.From.Listener], l.From.Column) {
			columns[l.From.Listener] = append(columns[l.From.Listener], l.From.Column)
		}
		if l.Kind == report.External {
			lastExternal = stage
		}
	}
	for stage, l := range r.Listeners() {
		if stage < lastExternal {
			delete(columns, l.Name)
			services[l.Name] = true
		}
	}
	return columns, services
}

// names is a dataset without rows whose columns have the types that are known.
type names []dataset.Column

func namesOf(l *report.Listener) names {
	columns := make(names, len(l.Columns))
	for i, name := range l.Columns {
		columns[i] = dataset.Column{Name: name} // of no type: it takes that of what it is combined with
		if i < len(l.Types) {
			columns[i].Kind = l.Types[i]
		}
	}
	return columns
}

// Empty returns a dataset without rows that has the columns of a listener: that of a job that continues without it.
func Empty(l *report.Listener) Dataset { return namesOf(l) }

// Typed returns a dataset without rows that has these columns: a plan of it has the errors of their types.
func Typed(columns []dataset.Column) Dataset { return names(columns) }

func (n names) Columns() []dataset.Column { return n }
func (n names) Rows() int64               { return 0 }
func (n names) Chunks() int64             { return 0 }
func (n names) Chunk(int64, []int) (*dataset.Chunk, error) {
	return nil, fmt.Errorf("a dataset without rows has no chunks")
}
