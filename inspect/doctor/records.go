package doctor

import (
	"context"
	"fmt"

	"github.com/fanfold/fanfold/internal/words"
)

// checkTable checks the record table.
func checkTable(ctx context.Context, d *doctor) Finding {
	return newFinding("records", Fail, "table and columns are as configured", d.Records.Check(ctx),
		"run fanfold migrate to make Fanfold's own table, or map yours with records.columns, with \"-\" for a column that "+
			"it lacks; add the column that lanes.by names; the account needs SELECT and UPDATE on it")
}

// checkInstallation shows the tag that this installation puts into the names of its files.
func checkInstallation(ctx context.Context, d *doctor) Finding {
	tag, err := d.Records.Installation(ctx)
	detail := "its files have the tag " + tag
	if tag == "" {
		detail = "no tag yet: fanfold serve makes it"
	}
	return newFinding("installation", Warn, detail, err,
		"run fanfold migrate, which makes the tables; the account needs SELECT and INSERT on fanfold_meta. Without them "+
			"the names of files do not tell which installation made them, and no file is ever removed: do not share the sink "+
			"with another installation")
}

// checkSnapshot checks the tables of the snapshot of Redis.
func checkSnapshot(ctx context.Context, d *doctor) Finding {
	members := 0
	_, err := d.Records.Installation(ctx)
	if err == nil {
		members, err = d.Records.SnapshotMembers(ctx)
	}
	return newFinding("records that outlive redis", Warn,
		fmt.Sprintf("the snapshot has %d ids, timers and pauses", members), err,
		"run fanfold migrate, which makes the tables; the account needs SELECT, INSERT, UPDATE and DELETE on them. "+
			"Without them, delayed ids and timers are lost if Redis loses its data")
}

// checkHistory checks that what jobs did can be kept.
func checkHistory(ctx context.Context, d *doctor) Finding {
	kept := d.Config.Records.History
	if kept == 0 {
		return pass("history", "it is not kept, because history is 0")
	}
	return newFinding("history", Warn, "what jobs did is kept for "+words.Short(kept), d.Records.CheckHistory(ctx),
		"run fanfold migrate, which makes the table; the account needs SELECT, INSERT, UPDATE and DELETE on it. Without "+
			"it, jobs end as usual, and the steps of those without a file are not shown")
}

// checkAudit checks that acts can be kept.
func checkAudit(ctx context.Context, d *doctor) Finding {
	kept := d.Config.Records.Audit
	if kept == 0 {
		return pass("audit", "acts are only in Redis, because audit is 0")
	}
	return newFinding("audit", Warn, "acts are kept for "+words.Short(kept), d.Records.Acts().Check(ctx),
		"run fanfold migrate, which makes the table; the account needs SELECT, INSERT, UPDATE and DELETE on it. Without "+
			"it, only the acts that Redis has are kept")
}

// checkTimerRecords checks that timers and schedules can insert records, if any does so.
func checkTimerRecords(ctx context.Context, d *doctor) Finding {
	if !d.Config.Timers.InsertRecords() {
		return pass("records of timers", "no timer or schedule submits a report")
	}
	return newFinding("records of timers", Fail, "timers can insert records, without duplicates",
		d.Records.CheckFirings(ctx),
		"run fanfold migrate, which makes the table; the account needs INSERT on the records, and SELECT, INSERT, UPDATE "+
			"and DELETE on the table")
}
