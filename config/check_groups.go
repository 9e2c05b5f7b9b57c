package config

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// checkGroups proves that the members, the reports and the rights of groups exist.
func checkGroups(k *checker) {
	site, s := &k.config.HTTP, k.Of(&k.f.HTTP)
	users, _ := report.ParseUsers(site.Users.Reveal()) // checkSite has told what is wrong with them
	tokens, _ := report.ParseTokens(site.Tokens.Reveal())
	for name := range tokens {
		if users[name] != "" {
			s.First("tokens", "tokens_file").Hidden().Problem("the token "+name+" has the name of a user",
				"Use names that tell who did what")
		}
	}
	if len(site.Groups) > 0 && !site.HasLogin() && len(tokens) == 0 &&
		!s.First("users", "users_file", "tokens", "tokens_file").Given() {
		s.Get("groups").Problem("groups require a login", "Add users_file, trusted_header or tokens_file")
	}
	if len(site.Groups) == 0 && len(tokens) > 0 && !s.Wrong("groups") {
		s.First("tokens", "tokens_file").Hidden().Problem("no group has the tokens, so they may do nothing",
			"Add http: {groups: {shop: {tokens: ["+sortedKeys(tokens)[0]+"], may: [order, see, download], own: true}}}")
	}
	// An empty value, such as that of a variable that is not set, must not mean everything.
	if at := s.Raw("groups"); at.Given() && len(k.f.HTTP.Groups) == 0 && !s.Wrong("groups") {
		at.Problem("empty", "Add a group, or remove the field: everyone who logs in may then see and download")
	}
	for i := range k.f.HTTP.Groups {
		g := &k.f.HTTP.Groups[i]
		at := k.Of(g)
		if !at.Readable() {
			continue
		}
		for _, one := range []struct{ field, remedy string }{
			{"reports", "Name reports, or remove the field: the group is then about all reports"},
			{"own", "Write true, or remove the field: the group is then about records of all owners"},
			{"tenant", "Name a tenant, or remove the field: the group is then about all tenants"},
		} {
			raw := at.Raw(one.field)
			if raw.IsNull() || one.field == "tenant" && raw.Given() && g.Tenant == "" && !at.Wrong("tenant") {
				raw.Problem("empty", one.remedy)
			}
		}
		if len(g.Users) == 0 && len(g.Tokens) == 0 && !at.Wrong("users", "tokens") {
			at.Problem("the group has no members", "Add users or tokens")
		}
		for _, name := range g.Users {
			switch {
			case name == "*":
			case !report.ValidUser(name):
				at.Get("users").Problem(report.Shorten(name)+" is not a name of a user",
					"Use up to 100 letters, digits and ._@+-, or \"*\" for everyone")
			case site.TrustedHeader.Name == "" && users != nil && users[name] == "":
				at.Get("users").Problem(name+" is not one of the users", "Correct the name, or add the user")
			}
		}
		for _, name := range g.Tokens {
			if tokens[name] == "" && !s.Wrong("tokens", "tokens_file") {
				at.Get("tokens").Problem(report.Shorten(name)+" is not one of the tokens",
					"Add its line to tokens_file with fanfold user token "+report.Shorten(name))
			}
		}
		for _, name := range g.Reports {
			if k.config.Reports[name] == nil {
				at.Get("reports").Problem("no such report: "+report.Shorten(name),
					report.DidYouMean(name, sortedKeys(k.config.Reports)))
			}
		}
		for _, right := range g.May {
			if !slices.Contains(report.Rights, right) {
				at.Get("may").Problem(report.Shorten(right)+" is not a right",
					"The rights are "+strings.Join(report.Rights, ", "))
			}
		}
		columns := k.config.Records.Columns
		if g.Own && columns["owner"] == "-" || g.Tenant != "" && columns["tenant"] == "-" {
			at.Problem("the records have no column for the owner or the tenant", "Map it in records.columns")
		}
	}
}
