package waiting

// The pages that do not depend on the state of a record.
var (
	invalidLink = view{
		Class: "bad", Title: "This link is not valid", Ended: true,
		Says: []string{"Part of it may be missing. Open it again from where you got it, or request a new one."},
	}
	expiredLink = view{
		Class: "warn", Title: "This link has expired", Ended: true,
		Says: []string{"Request a new one."},
	}
	unavailable = view{
		Class: "warn", Title: "Not available right now",
		Says: []string{"We cannot show the state of your report at the moment. The report itself is not affected. " +
			"This page reloads automatically."},
	}
	deletedFile = view{
		Class: "warn", Title: "The file no longer exists", Ended: true, Help: true,
		Says: []string{"It was created, but has been deleted since. Request the report again."},
	}
	// unreadableFile is shown if the file was made and can no longer be downloaded.
	unreadableFile = view{
		Class: "warn", Title: "The file can no longer be downloaded", Ended: true, Help: true,
		Says: []string{"It was created, but is no longer stored where this page can read it. " +
			"Support can find it, or have it made again."},
	}
)
