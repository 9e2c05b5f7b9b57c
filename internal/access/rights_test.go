package access

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
)

// TestRights: what the groups of a user allow, and what they do not.
func TestRights(t *testing.T) {
	t.Parallel()
	all := Who{Name: "root", groups: []report.Group{{May: report.Rights}}}
	sales := Who{Name: "ann", groups: []report.Group{
		{May: []string{report.Order, report.See}, Reports: []string{"orders"}, Own: true},
		{May: []string{report.Download}, Reports: []string{"taxes"}},
	}}
	acme := Who{Name: "bob", groups: []report.Group{{May: []string{report.Operate, report.Order}, Tenant: "acme"}}}
	reads := all
	reads.reads = true
	for name, c := range map[string]struct {
		is, want any
	}{
		"everything":                   {all.Everywhere(report.Operate) && all.Changes() && all.Can(report.Download, "x", "y", "z"), true},
		"read only: see":               {reads.Everywhere(report.See), true},
		"read only: operate":           {reads.Everywhere(report.Operate) || reads.May(report.Order, "x") || reads.Changes(), false},
		"nobody":                       {Who{}.May(report.See, "x") || Who{}.Changes() || Who{}.Can(report.See, "x", "", ""), false},
		"own record":                   {sales.Can(report.See, "orders", "ann", ""), true},
		"other person's record":        {sales.Can(report.See, "orders", "ben", ""), false},
		"nobody's record":              {sales.Can(report.See, "orders", "", ""), false},
		"a name that begins so":        {sales.Can(report.See, "orders", "ann ", "") || sales.Can(report.See, "orders", "Ann", ""), false},
		"own record of another report": {sales.Can(report.See, "other", "ann", ""), false},
		"download includes see":        {sales.Can(report.See, "taxes", "ben", ""), true},
		"see does not download":        {sales.Can(report.Download, "orders", "ann", ""), false},
		"order is not operate":         {sales.Can(report.Operate, "orders", "ann", ""), false},
		"may order":                    {sales.May(report.Order, "orders") && !sales.May(report.Order, "taxes"), true},
		"not everywhere":               {sales.Everywhere(report.See) || acme.Everywhere(report.See), false},
		"own tenant":                   {acme.Can(report.See, "x", "z", "acme"), true},
		"another tenant":               {acme.Can(report.See, "x", "bob", "other") || acme.Can(report.Operate, "x", "bob", ""), false},
		"not a download":               {acme.Can(report.Download, "x", "bob", "acme"), false},
	} {
		if c.is != c.want {
			t.Errorf("%s: %v", name, c.is)
		}
	}
	if owner, tenant := sales.For("orders"); owner != "ann" || tenant != "" {
		t.Errorf("ann orders for %q %q", owner, tenant)
	}
	if owner, tenant := acme.For("x"); owner != "" || tenant != "acme" {
		t.Errorf("bob orders for %q %q", owner, tenant)
	}
	everyone, tenant := report.Group{May: []string{report.Order}}, report.Group{May: []string{report.Order}, Tenant: "acme"}
	own, both, other := everyone, tenant, tenant
	own.Own, both.Own, other.Tenant = true, true, "other"
	elsewhere := both
	elsewhere.Reports = []string{"taxes"}
	for name, c := range map[string]struct {
		groups        []report.Group
		owner, tenant string
	}{
		"for everyone":       {[]report.Group{everyone}, "", ""},
		"own before all":     {[]report.Group{everyone, own}, "ann", ""},
		"own before tenant":  {[]report.Group{own, tenant}, "ann", ""},
		"tenant before all":  {[]report.Group{tenant, everyone}, "", "acme"},
		"both before own":    {[]report.Group{own, both}, "ann", "acme"},
		"the first of two":   {[]report.Group{tenant, other}, "", "acme"},
		"the second of two":  {[]report.Group{other, tenant}, "", "other"},
		"for another report": {[]report.Group{elsewhere, everyone}, "", ""},
		"no group":           {nil, "", ""},
	} {
		who := Who{Name: "ann", groups: c.groups}
		if owner, tenant := who.For("orders"); owner != c.owner || tenant != c.tenant {
			t.Errorf("%s: %q %q", name, owner, tenant)
		}
		if len(c.groups) > 0 && !who.Can(report.Order, "orders", c.owner, c.tenant) {
			t.Errorf("%s: ann may not order it", name)
		}
	}
	if scopes := all.Scopes(report.See); scopes != nil {
		t.Errorf("%v", scopes)
	}
	if scopes := (Who{}).Scopes(report.See); scopes == nil || len(scopes) > 0 {
		t.Errorf("nobody sees %v", scopes)
	}
	want := []report.Scope{{Reports: []string{"orders"}, Owner: "ann"}, {Reports: []string{"taxes"}}}
	if scopes := sales.Scopes(report.See); !slices.EqualFunc(scopes, want, func(a, b report.Scope) bool {
		return slices.Equal(a.Reports, b.Reports) && a.Owner == b.Owner && a.Tenant == b.Tenant
	}) {
		t.Errorf("%v", scopes)
	}
}

// TestTokens: a token is for the API alone, and for nobody else.
func TestTokens(t *testing.T) {
	t.Parallel()
	token, digest := NewToken()
	other, _ := NewToken()
	s, err := New(report.Site{
		Users: report.Secret("ann:" + hash(t, "secret")), Tokens: report.Secret("shop:" + digest + "\n"),
		Groups: []report.Group{{Tokens: []string{"shop"}, May: []string{report.See}}, {Users: []string{"*"}, May: report.Rights}},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		face, authorization string
		get, post           int
	}{
		"token":            {audit.API, "Bearer " + token, 200, 403},
		"lower case":       {audit.API, "bearer " + token, 200, 403},
		"another token":    {audit.API, "Bearer " + other, 401, 401},
		"its digest":       {audit.API, "Bearer " + digest, 401, 401},
		"no token":         {audit.API, "Bearer ", 401, 401},
		"on a page":        {audit.Dashboard, "Bearer " + token, 401, 401},
		"without a scheme": {audit.API, token, 401, 401},
	} {
		h := s.Login(c.face, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if who := Of(r.Context()); who.Name != "shop" || who.May(report.Order, "x") {
				t.Errorf("%s: %+v", name, who)
			}
		}))
		for method, want := range map[string]int{"GET": c.get, "POST": c.post} {
			r, w := httptest.NewRequestWithContext(t.Context(), method, "/", nil), httptest.NewRecorder()
			r.Header.Set("Authorization", c.authorization)
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s: %s: %d", name, method, w.Code)
			}
		}
	}
}
