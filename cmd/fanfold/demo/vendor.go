package demo

import (
	"encoding/json"
	"fmt"

	"github.com/fanfold/fanfold/internal/testenv/testvendor"
)

// token is what the vendor accepts; it is not a secret.
const token = "demo-token"

// newVendor returns the slow third-party API of fanfold demo --full. A client orders an export for ids
// of users, polls until it is done, and reads the scores in pages.
func newVendor() *testvendor.Vendor {
	return &testvendor.Vendor{Token: token, Idempotent: true, Polls: 3, Rows: scores}
}

// scores returns a page of the scores of the users that a job asks for.
func scores(j *testvendor.Job, page int) (rows []any, more bool) {
	const pageRows = 500
	var asked struct{ Users []int64 }
	if err := json.Unmarshal(j.Asked, &asked); err != nil {
		return []any{}, false // the export is empty, and the report has no scores
	}
	rows = []any{}
	users := asked.Users[min(page*pageRows, len(asked.Users)):]
	for _, user := range users[:min(pageRows, len(users))] {
		score := json.Number(fmt.Sprintf("0.%02d", user*37%100))
		rows = append(rows, map[string]any{"user": map[string]any{"id": user}, "score": score})
	}
	return rows, len(users) > pageRows
}
