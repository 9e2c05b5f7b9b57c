// Package kinds answers one question: which file formats, sinks, sources, databases of records and
// timer actions does a program have?
//
// It is a package of its own so that another program, and tests of other packages, can use the
// list. Nothing else in Fanfold names a kind.
package kinds

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/jsonl"
	"github.com/fanfold/fanfold/format/parquet"
	"github.com/fanfold/fanfold/format/xlsx"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/http"
	"github.com/fanfold/fanfold/listeners/mysql"
	"github.com/fanfold/fanfold/listeners/postgres"
	"github.com/fanfold/fanfold/record"
	recordmysql "github.com/fanfold/fanfold/record/mysql"
	recordpostgres "github.com/fanfold/fanfold/record/postgres"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/sink/gcs"
	"github.com/fanfold/fanfold/sink/s3"
)

// Kind is a format.Kind, a sink.Kind, a listeners.Kind, a *record.Kind or an action.Kind.
type Kind interface {
	// Names returns what no two kinds share, for people, such as "format csv". The first is its name.
	Names() []string
}

// standard are the kinds of the command fanfold. Of every table, the first is the default.
var standard = []Kind{
	format.CSV,
	xlsx.Kind,
	jsonl.Kind,
	parquet.Kind,

	gcs.Kind,
	s3.Kind,
	dir.Kind,

	mysql.Kind,
	postgres.Kind,
	http.Kind,
	listeners.ExternalKind,

	recordmysql.Kind,
	recordpostgres.Kind,

	action.Submit,
	action.Append,
	action.Call,
}

// Kinds are the kinds that a program has.
type Kinds struct {
	Formats format.Kinds    // of files; the first is the default
	Sinks   sink.Kinds      // places of files
	Sources listeners.Kinds // of listeners; the first is the default
	Records record.Kinds    // databases of records; every one is also a source
	Actions action.Kinds    // of timers
}

// Standard returns the kinds of the command fanfold.
func Standard() Kinds {
	k, err := With()
	if err != nil {
		panic(err) // a mistake in the list
	}
	return k
}

// With returns the kinds of the command fanfold and further ones. Two kinds with one name are an error.
func With(more ...Kind) (k Kinds, err error) {
	taken := map[string]bool{}
	for _, one := range append(standard[:len(standard):len(standard)], more...) {
		switch one := one.(type) {
		case format.Kind:
			k.Formats = append(k.Formats, one)
		case sink.Kind:
			k.Sinks = append(k.Sinks, one)
		case listeners.Kind:
			k.Sources = append(k.Sources, one)
		case *record.Kind:
			k.Records = append(k.Records, one)
		case action.Kind:
			if one.Fields == nil || one.Check == nil || one.Act == nil {
				return k, fmt.Errorf("timer action %q needs Fields, Check and Act", one.Name)
			}
			isName := func(f decode.Field) bool { return f.Name == one.Name }
			if slices.ContainsFunc(decode.Fields(reflect.TypeFor[report.Timer]()), isName) {
				return k, fmt.Errorf("timer action %q has the name of a field of all timers: rename it", one.Name)
			}
			k.Actions = append(k.Actions, one)
		default:
			return k, fmt.Errorf("%s is a %T, which is no kind of format, sink, source, records or action", one.Names()[0], one)
		}
		for _, name := range one.Names() {
			if taken[name] {
				return k, fmt.Errorf("%q belongs to two kinds of this program: rename one of them", name)
			}
			taken[name] = true
		}
	}
	if fields := k.Config().Undecided(); len(fields) > 0 {
		return k, fmt.Errorf("%s: the name is that of a secret: add the tag secret:\"\" to hide the value, or open:\"\" "+
			"to show it", strings.Join(fields, ", "))
	}
	return k, nil
}

// Config returns what the configuration needs to know of them.
func (k Kinds) Config() config.Kinds {
	c := config.Kinds{
		Formats: k.Formats.Config(), Sinks: k.Sinks.Config(), Sources: k.Sources.Config(), Actions: k.Actions.Config(),
	}
	for _, r := range k.Records {
		c.Records = append(c.Records, kind.Records{Name: r.Name, CheckCondition: r.CheckCondition})
	}
	return c
}
