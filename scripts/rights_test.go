package scripts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
)

// TestCheckRights: every right that is taken from a user is named, and nothing is changed.
func TestCheckRights(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	admin := server.Client()
	t.Cleanup(func() { _ = admin.Close() })
	var allowed []any
	for _, name := range Needed() {
		allowed = append(allowed, "+"+name)
	}
	check := func(rules ...any) error {
		t.Helper()
		set := append(slices.Concat([]any{"acl", "setuser", "keychannel", "reset", "on", ">p", "nocommands", "~fanfold:*", "~FileDownloadRecordEntity-*", "~replies:*", "~{replies:*"}, allowed), rules...)
		if err := admin.Do(t.Context(), set...).Err(); err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "keychannel", Password: "p", DisableIdentity: true})
		defer client.Close()
		return New(Options{Redis: client}).CheckRights(t.Context())
	}
	if err := check(); err != nil {
		t.Errorf("with all rights: %v", err)
	}
	for _, name := range Needed() {
		switch name {
		case "exec", "discard", "subscribe", "psubscribe":
			continue // not in a transaction
		}
		if err := check("-" + name); !errors.Is(err, ErrRights) || !strings.HasSuffix(err.Error(), ": +"+name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for rules, want := range map[string]string{
		"resetkeys ~FileDownloadRecordEntity-* ~replies:* ~{replies:*":              ": ~fanfold:*",
		"resetkeys ~fanfold:* ~replies:* ~{replies:*":                               ": ~FileDownloadRecordEntity-*",
		"resetkeys %R~fanfold:* ~FileDownloadRecordEntity-* ~replies:* ~{replies:*": ": ~fanfold:*",
		"resetkeys ~fanfold:* ~FileDownloadRecordEntity-*":                          ": ~replies:* ~{replies:*",
		"-info -hset": ": +hset +info",
	} {
		var given []any
		for rule := range strings.FieldsSeq(rules) {
			given = append(given, rule)
		}
		if err := check(given...); !errors.Is(err, ErrRights) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("with %s: %v", rules, err)
		}
	}
	if err := check("+@all", "-@admin", "-@dangerous"); err == nil || !strings.HasSuffix(err.Error(), ": +info") {
		t.Errorf("the usual ACL: %v", err)
	}
	if n := admin.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys were made", n)
	}
}
