package action

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// TestValuesCannotLeaveTheirPlace: what stands in a timer's name is foreign.
func TestValuesCannotLeaveTheirPlace(t *testing.T) {
	t.Parallel()
	hostile := map[string]string{"v": `a"b\c/d?e&f=g#h%i`}
	u, err := fillURL(report.NewTemplate("http://h/x/{v}/y?q={v}&z=1"), hostile)
	if want := "http://h/x/a%22b%5Cc%2Fd%3Fe&f=g%23h%25i/y?q=a%22b%5Cc%2Fd%3Fe%26f%3Dg%23h%25i&z=1"; err != nil || u != want {
		t.Errorf("%s %v", u, err)
	}
	for _, v := range []string{".", "..", "../x", "a/../b", `..\x`} {
		if _, err := fillURL(report.NewTemplate("http://h/{v}/y"), map[string]string{"v": v}); err == nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	body := fillBody(report.NewTemplate(`{"a":"{v}","n":{"m":1}}`), hostile, "application/json; charset=utf-8")
	var back struct {
		A string         `json:"a"`
		N map[string]int `json:"n"`
	}
	if err := json.Unmarshal([]byte(body), &back); err != nil || back.A != hostile["v"] || back.N["m"] != 1 {
		t.Errorf("%s %v", body, err)
	}
	if got := fillBody(report.NewTemplate("a={v}"), hostile, "application/x-www-form-urlencoded"); strings.Contains(got, "&") {
		t.Error(got)
	}
	// A value that looks like a placeholder is not filled again.
	if got := report.NewTemplate("{a}{b}").Fill(map[string]string{"a": "{b}", "b": "x"}, nil); got != "{b}x" {
		t.Error(got)
	}
	if got := fmt.Sprintf("%v %+v %#v", report.NewTemplate("secret"), struct{ T report.Template }{report.NewTemplate("secret")}, report.NewTemplate("secret")); strings.Contains(got, "secret") {
		t.Error(got)
	}
}
