package listenertest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Names are data source names for a kind of database. The password, if a name has one, is Password.
type Names struct {
	Valid      []string // with a password, if the kind has accounts
	NoPassword string   // valid, with a user and without a password; empty: the kind has no accounts
	Wrong      []string // with mistakes
}

// Password is the password in the names of a test. Nothing may show it.
const Password = "s3cretPasswordOfTheTests"

// TestKind proves that a kind fits into a configuration: that its fields are structs of its own, and
// that it reads data source names without showing a password.
func TestKind(t *testing.T, k listeners.Kind, names Names) {
	t.Helper()
	if k.Name == "" || k.Noun == "" || k.Section == "" || k.Work == "" || k.Remedy == "" || k.Field == "" ||
		k.Read == nil {
		t.Errorf("the kind is not complete: %+v", k.Source)
	}
	if one, other := k.Fields(), k.Fields(); reflect.TypeOf(one).Elem().Kind() != reflect.Struct || one == other {
		t.Errorf("Fields returns %T, not a pointer to a new struct", one)
	}
	valid := names.Valid
	if names.NoPassword != "" {
		valid = append(valid, names.NoPassword)
		testAccounts(t, k, names)
	}
	for _, name := range valid {
		if wrong := k.DSN.Check(name); wrong != nil {
			t.Errorf("%s: %v", name, wrong)
		}
		opened, err := k.OpenDatabase(report.Database{Name: "d", Kind: k.Name, DSN: report.Secret(name),
			MaxConnections: 1})
		if err != nil {
			t.Errorf("%s cannot be opened, but has no mistake: %v", name, err)
			continue
		}
		if _, ok := opened.(listeners.Measured); ok != k.DSN.Measured {
			t.Errorf("it is listeners.Measured: %t, and its DSN says %t", ok, k.DSN.Measured)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range names.Wrong {
		wrong := k.DSN.Check(name)
		if wrong == nil {
			t.Errorf("%s has no mistake", name)
		} else if strings.Contains(wrong.Error(), Password) {
			t.Errorf("the mistake of %s shows the password: %v", name, wrong)
		}
		opened, err := k.OpenDatabase(report.Database{Name: "d", Kind: k.Name, DSN: report.Secret(name),
			MaxConnections: 1})
		if err == nil {
			_ = opened.Close()
		} else if strings.Contains(err.Error(), Password) {
			t.Errorf("the error of %s shows the password: %v", name, err)
		}
	}
}

// testAccounts proves that a kind finds the accounts in names.
func testAccounts(t *testing.T, k listeners.Kind, names Names) {
	t.Helper()
	for _, name := range names.Valid {
		if user, password := k.DSN.Account(name); user == "" || !password {
			t.Errorf("%s: user %q, password %v", name, user, password)
		}
	}
	user, password := k.DSN.Account(names.NoPassword)
	if user == "" || password {
		t.Errorf("%s: user %q, password %v", names.NoPassword, user, password)
	}
	with := k.DSN.AddPassword(names.NoPassword, Password)
	if other, password := k.DSN.Account(with); other != user || !password || k.DSN.Check(with) != nil {
		t.Errorf("with a password, the user of %s is %q; password %v", names.NoPassword, other, password)
	}
}
