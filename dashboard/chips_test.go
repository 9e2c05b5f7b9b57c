package dashboard

import (
	"testing"

	"github.com/fanfold/fanfold/inspect/why"
)

// TestChipOfEveryKind: every kind of a step has a state of its chip, and no other kind has one.
func TestChipOfEveryKind(t *testing.T) {
	t.Parallel()
	kinds := why.StepKinds()
	for _, kind := range kinds {
		if stateOf[kind] == "" {
			t.Errorf("stateOf has no state for a step that is %s", kind)
		}
	}
	if len(stateOf) != len(kinds) {
		t.Errorf("stateOf has %d kinds, and steps have %d", len(stateOf), len(kinds))
	}
}
