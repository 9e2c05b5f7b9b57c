package doctor

import (
	"context"
	"fmt"
)

// checkRecords checks the record table, and counts the rows that a start would take for
// work to be done.
func (d recordDoctor) checkRecords(ctx context.Context) Findings {
	if err := d.Records.Check(ctx); err != nil {
		return Findings{newFinding("records", Fail, "", err, "fanfold migrate makes Fanfold's own table; records.columns maps one of yours; the account needs SELECT and UPDATE on it")}
	}
	fs := Findings{{Check: "records", Result: Pass, Detail: "table and columns are as configured"}}
	fs = append(fs, d.checkStartable(ctx))
	return append(fs, d.checkFileColumn(ctx), d.checkSnapshot(ctx), d.checkInstallation(ctx), d.checkTimerRecords(ctx))
}

// checkInstallation names the installation whose files these are.
func (d recordDoctor) checkInstallation(ctx context.Context) Finding {
	tag, err := d.Records.Installation(ctx)
	detail := "files have the tag " + tag
	if tag == "" {
		detail = "none yet: fanfold serve makes it"
	}
	return newFinding("installation", Warn, detail, err,
		"fanfold migrate makes the tables; the account needs SELECT and INSERT on fanfold_meta. Without them the names of files do not say whose they are, and no file is ever removed: use no sink that another installation uses")
}

// checkSnapshot looks for the tables that outlive Redis.
func (d recordDoctor) checkSnapshot(ctx context.Context) Finding {
	members := 0
	_, err := d.Records.Installation(ctx)
	if err == nil {
		members, err = d.Records.SnapshotMembers(ctx)
	}
	return newFinding("records that outlive redis", Warn, fmt.Sprintf("a snapshot has %d ids, timers and pauses", members), err,
		"fanfold migrate makes the tables; the account needs SELECT, INSERT, UPDATE and DELETE on them. Without them delayed ids and timers are lost with Redis's memory")
}

// checkTimerRecords proves that timers can insert records, if any does.
func (d recordDoctor) checkTimerRecords(ctx context.Context) Finding {
	if !d.Config.Timers.Submit() {
		return pass("records of timers", "no timer submits a report")
	}
	return newFinding("records of timers", Fail, "each is inserted once", d.Records.CheckFirings(ctx),
		"fanfold migrate makes the table; the account needs INSERT on the records, and SELECT, INSERT, UPDATE and DELETE on the table")
}
