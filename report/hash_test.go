package report

import "testing"

func TestHashOfParameters(t *testing.T) {
	t.Parallel()
	a, b := Parameter{Name: "a"}, Parameter{Name: "b"}
	first, second := &Report{Parameters: []Parameter{a, b}}, &Report{Parameters: []Parameter{b, a}}
	if list := (&Report{Parameters: []Parameter{a, {Name: "b", List: true}}}); list.Hash() == first.Hash() {
		t.Error("a parameter that is a list has the hash of one that is not")
	}
	if later := (&Report{Parameters: []Parameter{a, {Name: "b", Default: new(`"today"`)}}}); later.Hash() == first.Hash() {
		t.Error("a relative default does not change the hash")
	}
	limits := Parameter{
		Name: "b", Description: "x", Options: []string{"x"}, Minimum: "1", Maximum: "2", Pattern: expression(t, "x"),
	}
	if limited := (&Report{Parameters: []Parameter{a, limits}}); limited.Hash() != first.Hash() {
		t.Error("what limits the values of a parameter changed the hash")
	}
	if first.Hash() != second.Hash() {
		t.Error("the order of parameters changed the hash")
	}
	if second.Parameters[0].Name != "b" {
		t.Error("Hash sorted the report's own parameters")
	}
}
