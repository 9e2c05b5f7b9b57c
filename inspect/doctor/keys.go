package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/fold/collation"
	"github.com/fanfold/fanfold/report"
)

// checkKeys warns if the database and Fanfold compare a listener's key columns differently: texts that
// are equal by a collation do not match in a join, because it compares bytes. It finds nothing if the
// server cannot tell the collations.
func checkKeys(ctx context.Context, source Database, r *report.Report, l *report.Listener) Findings {
	var keys []string
	for _, joined := range r.Join.Listeners {
		if joined.Listener == l.Name && len(r.Join.Listeners) > 1 {
			keys = joined.Keys
		}
	}
	if len(keys) == 0 {
		return nil
	}
	collations, err := source.Collations(ctx, l, keys)
	if err != nil {
		return nil // such as of a query that the server does not take as a derived table
	}
	binary := "utf8mb4_nopad_bin (MariaDB) or utf8mb4_0900_bin (MySQL)"
	var wide, names []string
	for i, key := range keys {
		if strings.Contains(collations[i], "_0900_") { // only MySQL has these
			binary = "utf8mb4_0900_bin"
		}
		if !collation.Named(collations[i]).Exact() {
			wide, names = append(wide, fmt.Sprintf("%s has the collation %s", key, collations[i])), append(names, key)
		}
	}
	if len(wide) == 0 {
		return nil
	}
	return Findings{{
		Check: "keys " + r.Name + " / " + l.Name, Result: Warn,
		Detail: strings.Join(wide, ", ") +
			": SQL calls more texts equal than the join, which compares bytes, so rows " +
			"that match in SQL may not match here",
		Hint: fmt.Sprintf("if they should match, make the bytes equal in the queries of all joined listeners (%s:%d), "+
			"such as LOWER(TRIM(%s)) AS %[3]s, or set join.fold_case; if bytes are meant, end this warning with a binary "+
			"collation without padding: %[3]s COLLATE %s AS %[3]s",
			l.File, l.Line, names[0], binary),
	}}
}
