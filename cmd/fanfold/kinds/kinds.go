// Package kinds answers one question: which file formats, sinks and sources does a program have?
//
// It is a package of its own so that another program, and tests of other packages, can use the
// list. Nothing else in Fanfold names a kind.
package kinds

import (
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/http"
	"github.com/fanfold/fanfold/listeners/mysql"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/sink/gcs"
)

// Kinds are the kinds that a program has.
type Kinds struct {
	Formats format.Kinds    // of files; the first is the default
	Sinks   sink.Kinds      // places of files
	Sources listeners.Kinds // of listeners; the first is the default
}

// Standard returns the kinds of the command fanfold.
func Standard() Kinds {
	return Kinds{
		Formats: format.Kinds{
			format.CSV,
		},
		Sinks: sink.Kinds{
			gcs.Kind,
			dir.Kind,
		},
		Sources: listeners.Kinds{
			mysql.Kind,
			http.Kind,
			listeners.ExternalKind,
		},
	}
}

// Config returns what the configuration needs to know of them.
func (k Kinds) Config() config.Kinds {
	return config.Kinds{Formats: k.Formats.Config(), Sinks: k.Sinks.Config(), Sources: k.Sources.Config()}
}
