package scripts

import (
	"slices"
	"testing"
)

// TestATimerForNever: the largest time that a key can have is no time, and not now.
func TestATimerForNever(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	if err := client.Do(ctx, "SET", s.Keys.Timer("never"), "", "PXAT", "9223372036854775807").Err(); err != nil {
		t.Fatal(err)
	}
	if outcomes, err := s.Timers.Adopt(ctx, []TimerEvent{{Name: "never", Event: "set"}}); err != nil || !slices.Equal(outcomes, []Outcome{OK}) {
		t.Fatal(outcomes, err)
	}
	due, _, _, err := s.Timers.Due(ctx, 10, 0)
	if err != nil || len(due) != 1 || due[0].Finite {
		t.Errorf("%+v %v", due, err)
	}
}
