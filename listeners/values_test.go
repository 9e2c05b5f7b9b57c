package listeners

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestDistinctIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, model := distinct{}, map[string]bool{"null": true}
		for _, v := range rapid.SliceOf(rapid.OneOf(rapid.Int64Range(-3, 3).AsAny(), rapid.StringN(0, 2, 4).AsAny(), rapid.Uint64().AsAny(),
			rapid.Bool().AsAny(), rapid.Just[any](nil), rapid.Float64Range(0, 1).AsAny())).Draw(t, "values") {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			fresh, err := d.add(raw)
			if err != nil || fresh == model[string(raw)] {
				t.Fatalf("%s: fresh %v, %v", raw, fresh, err)
			}
			model[string(raw)] = true
		}
	})
}
