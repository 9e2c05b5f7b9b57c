package kind

import "github.com/fanfold/fanfold/report"

// Records is a kind of database that can have the table of records.
type Records struct {
	Name string // of the kind of source that reads the DSNs
	// CheckCondition checks SQL that is added to the WHERE of the table; nil: it is valid.
	CheckCondition func(text string) *report.Mistake
}
