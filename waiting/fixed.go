package waiting

import "github.com/fanfold/fanfold/web/languages"

// fixed is a page that does not depend on the state of a record.
type fixed struct {
	class, key  string // the key of its texts
	ended, help bool   // see view
}

var (
	invalidLink = fixed{class: "bad", key: "invalid", ended: true}
	expiredLink = fixed{class: "warn", key: "expired", ended: true}
	unavailable = fixed{class: "warn", key: "unavailable"}
	deletedFile = fixed{class: "warn", key: "file-deleted", ended: true, help: true}
	// unreadableFile is shown if the file was made and can no longer be downloaded.
	unreadableFile = fixed{class: "warn", key: "unreadable", ended: true, help: true}
)

// view returns the page in a language.
func (p fixed) view(in *languages.Language) view {
	return view{In: in, Class: p.class, Title: in.Say(p.key), Says: []string{in.Say(p.key + ".says")},
		Ended: p.ended, Help: p.help}
}
