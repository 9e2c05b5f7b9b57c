package config

import (
	"slices"

	"github.com/fanfold/fanfold/report"
)

// onceParts are the values of once.per. A file is only right for jobs with the same report and parameters.
var onceParts = []string{"report", "parameters", report.PerOwner}

// checkOnce proves that equal jobs of a report can be told apart from others.
func checkOnce(k *checker, o *report.Once) {
	s := k.Of(o)
	if o == nil || !s.Readable() {
		return
	}
	if !s.Has("per") {
		o.Per = onceParts
	}
	at := s.Get("per")
	for _, part := range o.Per {
		if !slices.Contains(onceParts, part) {
			at.Problem(part+" is not a part of a job", report.DidYouMean(part, onceParts))
			return
		}
	}
	for _, part := range onceParts[:2] {
		if !slices.Contains(o.Per, part) && !s.Wrong("per") {
			at.Problem("without "+part+", jobs that make different files would share one", "Add "+part)
			return
		}
	}
	if !o.ByOwner() || s.Wrong("per") {
		return
	}
	if k.config.Records.Columns["owner"] == "-" {
		s.Problem("once shares only between jobs of one owner, and no column of the records has the owner",
			"Map records.columns.owner to a column, or let people share with once: {per: [report, parameters]}")
	}
}
