package kind

import (
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// Listener is a listener whose own fields a kind reads.
type Listener struct {
	*report.Listener                // Own has the fields
	decode.Section                  // the places of the fields
	Reader           *decode.Reader // has the places of the fields of nested structs
	// Connection is the report.Database or report.API that the listener names; nil: none of this name.
	Connection any
	// ColumnsAt is the place of problems with Columns. ColumnAt are the places of each; nil: that of all.
	ColumnsAt decode.Setting
	ColumnAt  []decode.Setting
	// Known: Columns are those of the result. Unsure: they may be wrong.
	Known, Unsure bool
	// Uses are the names in the listener's query or requests. Whole: all of them could be read.
	Uses  []Use
	Whole bool
}

// Use is a name in a query or request: a parameter, or <listener>.<column>.
type Use struct {
	Name   string
	List   bool   // a list may stand here
	Needed bool   // null may not stand here
	Remedy string // if the value may not stand here
	At     decode.Setting
}
