package files_test

import (
	"context"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// TestOldHistoriesAreDeleted, as many as there are, and no others.
func TestOldHistoriesAreDeleted(t *testing.T) {
	t.Parallel()
	g := newEmptied(t, report.Records{History: 30 * day}, "")
	g.exec(testmain.SharedDatabase(t).SQL("INSERT INTO fanfold_history (records, id, attempt, report, definition, status, started, ended, row_count, " +
		"bytes, reason, steps, made) SELECT 'file_download_record', seq, 1, 'r', '', 'FAILED', 0, 0, 0, 0, '', '[]', " +
		"NOW() - INTERVAL IF(seq > 1200, 29, 31) DAY FROM seq_1_to_1300"))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- g.Files.Run(ctx) }()
	left := 1300
	for left > 100 && ctx.Err() == nil {
		if err := g.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fanfold_history").Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil || left != 100 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}
