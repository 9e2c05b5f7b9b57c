package doctor

import (
	"context"
	"fmt"
)

// checkRecords checks the record table, and counts the rows that a rebuild would start.
func (d recordDoctor) checkRecords(ctx context.Context) Findings {
	if err := d.Records.Check(ctx); err != nil {
		return Findings{newFinding("records", Fail, "", err, "run fanfold migrate to make Fanfold's own table, or map yours with records.columns, with \"-\" for a column that it lacks; the account needs SELECT and UPDATE on it")}
	}
	fs := Findings{{Check: "records", Result: Pass, Detail: "table and columns are as configured"}}
	fs = append(fs, d.checkStartable(ctx))
	return append(fs, d.checkFileColumn(ctx), d.checkSnapshot(ctx), d.checkInstallation(ctx), d.checkTimerRecords(ctx))
}

// checkInstallation shows the tag that this installation puts into the names of its files.
func (d recordDoctor) checkInstallation(ctx context.Context) Finding {
	tag, err := d.Records.Installation(ctx)
	detail := "its files have the tag " + tag
	if tag == "" {
		detail = "no tag yet: fanfold serve makes it"
	}
	return newFinding("installation", Warn, detail, err,
		"run fanfold migrate, which makes the tables; the account needs SELECT and INSERT on fanfold_meta. Without them the names of files do not tell which installation made them, and no file is ever removed: do not share the sink with another installation")
}

// checkSnapshot checks the tables of the snapshot of Redis.
func (d recordDoctor) checkSnapshot(ctx context.Context) Finding {
	members := 0
	_, err := d.Records.Installation(ctx)
	if err == nil {
		members, err = d.Records.SnapshotMembers(ctx)
	}
	return newFinding("records that outlive redis", Warn, fmt.Sprintf("the snapshot has %d ids, timers and pauses", members), err,
		"run fanfold migrate, which makes the tables; the account needs SELECT, INSERT, UPDATE and DELETE on them. Without them, delayed ids and timers are lost if Redis loses its data")
}

// checkTimerRecords checks that timers can insert records, if any timer does so.
func (d recordDoctor) checkTimerRecords(ctx context.Context) Finding {
	if !d.Config.Timers.InsertRecords() {
		return pass("records of timers", "no timer submits a report")
	}
	return newFinding("records of timers", Fail, "timers can insert records, without duplicates", d.Records.CheckFirings(ctx),
		"run fanfold migrate, which makes the table; the account needs INSERT on the records, and SELECT, INSERT, UPDATE and DELETE on the table")
}
