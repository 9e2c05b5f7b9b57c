package listeners

import (
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// ExternalKind is the kind of the listeners whose services read their streams themselves.
var ExternalKind = Kind{Source: kind.Source{
	Name: report.External, Words: report.Words{Work: "it has been running for"},
	Fields: func() any { return new(externalFields) },
	Read:   readExternal,
}}

// externalFields are the own fields of an external listener.
type externalFields struct {
	// Columns that the service delivers: names, or these fields
	Columns []externalColumn `yaml:"columns" need:"List the columns that the service delivers: columns: [user_id, {name: score, type: decimal}]" json:"-"`
	// Maximum time between two messages of a worker. After it the worker is considered dead
	Silence time.Duration `yaml:"silence" default:"30s" min:"1s" why:"A worker sends a message every third of it" json:"-"`
	// Secret of [workers over HTTP](http-workers.md): 32 characters or more, such as from
	// `openssl rand -hex 32`. Several tokens have a line each
	Token report.Secret `yaml:"token" file:"token_file" unset:"no worker over HTTP" json:"-"`
}

type externalColumn struct {
	// Name of the column
	Name string `yaml:"name" short:"" need:"Name the column"`
	// Type of its values
	Type report.Kind `yaml:"type" default:"text"`
}

// minToken is the minimum length of a token, which nobody can guess.
const minToken = 32

func readExternal(l *kind.Listener) {
	f := l.Own.(*externalFields)
	l.Silence = f.Silence
	if at := l.First("token", "token_file").Hidden(); at.Given() && !l.Wrong("token", "token_file") {
		tokens := strings.Fields(f.Token.Reveal())
		short := func(token string) bool { return len(token) < minToken }
		if len(tokens) == 0 || slices.ContainsFunc(tokens, short) {
			at.Problem("the token is shorter than 32 characters",
				"Use at least 32 random characters, such as the output of openssl rand -hex 32")
		}
	}
	for _, c := range f.Columns {
		l.Columns, l.Types = append(l.Columns, c.Name), append(l.Types, c.Type)
	}
}
