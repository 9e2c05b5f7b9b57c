package config

import (
	"slices"

	"github.com/fanfold/fanfold/report"
)

// checkLanes proves that lanes fit the reports, and tells the records which columns they need.
func checkLanes(k *checker) {
	lanes, c := k.f.Lanes, k.config
	c.Limits.Lanes = lanes
	var classes []string
	if lanes != nil {
		for _, class := range lanes.Classes {
			classes = append(classes, class.Name)
		}
		c.Records.LaneColumn = lanes.By.Column
		checkLaneBy(k, lanes)
	}
	for i := range k.f.Reports {
		r, s := &k.f.Reports[i].Report, k.Of(&k.f.Reports[i])
		switch at := s.Get("class"); {
		case !at.Given() || s.Wrong("class"):
		case lanes == nil:
			at.Problem("class requires lanes", "Add lanes: {classes: {"+r.Class+": {running: 20}}}, or remove it")
		case !k.Of(lanes).Wrong("classes") && !slices.Contains(classes, r.Class):
			remedy := "Add it to lanes.classes"
			if len(classes) > 0 {
				remedy = report.DidYouMean(r.Class, classes)
			}
			at.Problem("no such class", remedy)
		}
		switch at := s.Get("newest_only"); {
		case !r.NewestOnly:
		case lanes == nil:
			at.Problem("newest_only requires lanes", "Add lanes, such as lanes: {running: 20}, or remove it")
		case c.Records.Columns["owner"] == "-":
			at.Problem("newest_only requires the owner of a record",
				"Map records.columns.owner to the column with the owner, or remove it")
		}
	}
}

// checkLaneBy proves that a report has the parameter that names the lanes.
func checkLaneBy(k *checker, lanes *report.Lanes) {
	s := k.Of(&lanes.By)
	at := k.Of(lanes).Get("by")
	if s.Wrong() || !s.Readable() {
		return
	}
	if lanes.By.Column != "" && lanes.By.Parameter != "" {
		at.Problem("both parameter and column name the lane", "Keep one of them")
		return
	}
	if lanes.By.Parameter == "" {
		return
	}
	var known []string
	for _, r := range k.config.Reports {
		for _, p := range r.Parameters {
			if p.Name == lanes.By.Parameter {
				return
			}
			known = append(known, p.Name)
		}
	}
	slices.Sort(known)
	remedy := "Name a parameter of the reports, or {column: NAME} for a column of the records"
	if known = slices.Compact(known); len(known) > 0 {
		remedy += ". " + report.DidYouMean(lanes.By.Parameter, known)
	}
	at.Problem("no report has this parameter", remedy)
}
