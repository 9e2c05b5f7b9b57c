package report

import "testing"

// TestTasksOf: a task needs a connection, so no limit of tasks exceeds the connections.
func TestTasksOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tasks, connections, want int }{
		{0, 10, 10}, {0, 50, 50}, {8, 10, 8}, {16, 10, 10}, {0, 0, 16}, {40, 0, 40},
	} {
		if got := (Limits{Tasks: c.tasks}).TasksOf(c.connections); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
