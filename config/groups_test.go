package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/decode"
)

// TestGroupProblems: an empty value of a group never means everything, and no token has the name of a user.
func TestGroupProblems(t *testing.T) {
	t.Parallel()
	load := func(tokens, groups string) string {
		t.Helper()
		site := "http:\n  users: \"ann:" + hashed + "\"\n  tokens: \"" + tokens + ":" + digested + "\"\n" + groups + "limits:"
		_, err := Load("f.yaml", []byte(strings.Replace(base, "limits:", site, 1)), testEnvironment(), TestKinds)
		if problems := (decode.Problems{}); err != nil && !errors.As(err, &problems) {
			t.Errorf("%s: no Problems but %v", groups, err)
		} else if err == nil {
			return ""
		}
		return err.Error()
	}
	const reports = " Name reports, or remove the field: the group is then about all reports"
	const own = " Write true, or remove the field: the group is then about records of all owners"
	const tenant = " Name a tenant, or remove the field: the group is then about all tenants"
	for field, want := range map[string]string{
		"reports: [orders]":       "",
		"own: true":               "",
		"own: false":              "",
		"tenant: acme":            "",
		`tenant: "${EMPTY:-x}"`:   "",
		"reports:":                "http.groups.g.reports: empty." + reports,
		"reports: ~":              `http.groups.g.reports: empty (value "~").` + reports,
		"reports: []":             "http.groups.g.reports: empty. Add at least one, or remove the field",
		`reports: ["${EMPTY}"]`:   `http.groups.g.reports: no such report: . Available: orders`,
		`reports: "${EMPTY}"`:     `http.groups.g.reports: not a list (value "${EMPTY}")`,
		"own: null":               `http.groups.g.own: empty (value "null").` + own,
		`own: "${EMPTY}"`:         `http.groups.g.own: neither true nor false (value "${EMPTY}")`,
		"tenant:":                 "http.groups.g.tenant: empty." + tenant,
		`tenant: ""`:              "http.groups.g.tenant: empty." + tenant,
		`tenant: "${UNSET:-}"`:    `http.groups.g.tenant: empty (value "${UNSET:-}").` + tenant,
		"<<: {tenant: , own: on}": "http.groups.g.tenant: empty." + tenant,
	} {
		got := load("shop", "  groups:\n    g:\n      users: [ann]\n      may: [see]\n      "+field+"\n")
		if !strings.Contains(got, want) || want != "" && !strings.HasPrefix(got, "f.yaml:13:") || (want == "") != (got == "") {
			t.Errorf("%s: %q", field, got)
		}
	}
	for _, groups := range []string{"", " {}", ` "${EMPTY}"`} {
		if got := load("shop", "  groups:"+groups+"\n"); !strings.Contains(got, "http.groups: ") {
			t.Errorf("groups:%s: %q", groups, got)
		}
	}
	const twice = "http.tokens: the token ann has the name of a user. Use names that tell who did what"
	if got := load("ann", "  groups: {g: {users: [ann], may: [see]}}\n"); !strings.Contains(got, twice) {
		t.Errorf("a token with the name of a user: %q", got)
	}
}
