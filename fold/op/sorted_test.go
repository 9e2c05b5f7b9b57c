package op

import (
	"strings"
	"testing"
)

// TestIntegersOfAnySize compares integers by their digits; numbers in another form are not
// integers here.
func TestIntegersOfAnySize(t *testing.T) {
	t.Parallel()
	ordered := strings.Fields("-18446744073709551616 -10 -9 -1 0 1 9 10 18446744073709551615 18446744073709551616")
	for i, a := range ordered {
		for j, b := range ordered {
			if got := compareIntegers([]byte(a), []byte(b)); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
		if !isInteger([]byte(a)) {
			t.Error(a)
		}
	}
	for _, text := range []string{"", "-", "-0", "01", "1.0", "1e3", `"1"`, "null", "true"} {
		if isInteger([]byte(text)) {
			t.Errorf("%q is taken for an integer", text)
		}
	}
}
