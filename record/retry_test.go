package record_test

import (
	"fmt"
	"testing"

	"github.com/fanfold/fanfold/engine"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestRetryFailed changes those that are FAILED with that attempt, and says which
// are PENDING then.
func TestRetryFailed(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "INSERT INTO file_download_record (report, status, attempt, error) SELECT 'r', 'FAILED', seq % 2, 'why' FROM seq_1_to_3000")
		run(t, db, "UPDATE file_download_record SET status = 'SUCCESS' WHERE id = 5")
		run(t, db, "UPDATE file_download_record SET status = 'PENDING' WHERE id = 6")
		run(t, db, "UPDATE file_download_record SET attempt = 9 WHERE id = 7")
		run(t, db, "DELETE FROM file_download_record WHERE id = 8")
		var runs []engine.Run
		for id := 1; id <= 2999; id++ {
			runs = append(runs, engine.Run{ID: fmt.Sprint(id), Attempt: int64(id % 2)})
		}
		runs = append(runs, engine.Run{ID: "02", Attempt: 0})
		pending, err := s.RetryFailed(t.Context(), runs)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range runs {
			if want := r.ID != "5" && r.ID != "7" && r.ID != "8" && r.ID != "02"; pending[i] != want {
				t.Errorf("record %s: %v", r.ID, pending[i])
			}
		}
		for id, want := range map[string]report.Status{"1": report.Pending, "5": report.Success, "7": report.Failed, "3000": report.Failed} {
			if got := read(t, s, id); got.Status != want || want == report.Pending && got.Error != "" {
				t.Errorf("record %s: %+v", id, got)
			}
		}
	})
}
