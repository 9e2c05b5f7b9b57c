package job

import (
	"errors"
	"testing"
)

func TestLater(t *testing.T) {
	t.Parallel()
	for _, l := range []Later{{ID: "1111"}, {ID: "a_b-c", Attempt: 3, Step: "plt_fund.vs_withdraw"}, {ID: "1", Step: StepTrigger}, {ID: "1", Attempt: 9, Step: StepFanIn}} {
		if got, err := ParseLater(l.String()); err != nil || got != l {
			t.Errorf("%s: %+v %v", l, got, err)
		}
	}
	for _, member := range []string{"", "{1}", "1/2", "1/x/y", "1/-1/y", "1/2/", "1/2/3/4", "ü"} {
		if l, err := ParseLater(member); !errors.Is(err, ErrMember) {
			t.Errorf("%q: %+v %v", member, l, err)
		}
	}
}

// TestParseLater knows the steps that there can be.
func TestParseLater(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]Later{
		"1111": {ID: "1111"}, "1/2/@fanin": {"1", 2, StepFanIn}, "1/2/@record": {"1", 2, StepRecord},
		"1/0/@trigger": {"1", 0, StepTrigger}, "1/2/plt_fund.vs_withdraw": {"1", 2, "plt_fund.vs_withdraw"},
	} {
		if got, err := ParseLater(member); err != nil || got != want || got.String() != member {
			t.Errorf("%s: %+v %v", member, got, err)
		}
	}
	for _, member := range []string{"", "a b", "1/2", "1/x/a", "1/-1/a", "1/2/", "1/1/@fanln", "1/1/a b", "1/1/a/b", "1/1/:x"} {
		if got, err := ParseLater(member); err == nil {
			t.Errorf("%q: %+v", member, got)
		}
	}
}
