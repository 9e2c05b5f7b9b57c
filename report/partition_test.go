package report

import (
	"slices"
	"testing"
	"time"
)

// TestPartitionsAreSpread over masters that share the slots evenly, and quickly found.
func TestPartitionsAreSpread(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for _, prefix := range []string{"fanfold:", "reports:", "x"} {
		for _, n := range []int{1, 3, 12, 16, 1024} {
			all := Keys{Prefix: prefix, Hash: "job-"}.Partitions(Redis{Cluster: []string{"a:1"}, Partitions: n})
			for masters := 1; masters <= min(n, 7); masters++ {
				of := make([]int, masters)
				for i, k := range all {
					of[slot(k.Prefix[1:len(k.Prefix)-2])*masters/slots]++
					if k.Hash != k.Prefix+"job-" || slices.Contains(all[:i], k) {
						t.Error(k)
					}
				}
				if apart := slices.Max(of) - slices.Min(of); apart > 0 && n%masters == 0 || apart > 2 {
					t.Errorf("%d partitions on %d masters: %d", n, masters, of)
				}
			}
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("that took %v", took)
	}
	if s := slot("123456789"); s != 0x31c3 { // the example of the cluster's specification
		t.Errorf("%#x", s)
	}
}
