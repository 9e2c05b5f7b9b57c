package job

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// TestReceiptsAreReadBack from the names of firings.
func TestReceiptsAreReadBack(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Receipt{
		EndPrefix + "1/2/accepted/1763773222000/1763773822000/r/my:{a}:x/5-0": {"1", "2", ReceiptAccepted, "1763773222000", "1763773822000", "r", "", "my:{a}:x", "5-0"},
		EndPrefix + "1/" + EndedWithoutJob(3) + "/s/5-0":                      {ID: "1", Attempt: "3", Kind: ReceiptEnded, Stream: "s", Push: "5-0"},
		EndPrefix + "1/" + Refused(`no "a/b" = é`) + "/s/5-0":                 {ID: "1", Attempt: "0", Kind: ReceiptRefused, Reason: `no "a/b" = é`, Stream: "s", Push: "5-0"},
	} {
		if got, ok := ParseReceipt(name); !ok || got != want || strings.ContainsAny(name, " \"") {
			t.Errorf("%s: %+v %v", name, got, ok)
		}
		if _, _, ok := ParseEnd(name); ok {
			t.Errorf("%s is an end", name)
		}
	}
	long := EndPrefix + strings.Repeat("i", 64) + "/" + Refused(strings.Repeat("é", 200)) + "/" + strings.Repeat("s", 200) + "/1763773222000-0"
	if r, ok := ParseReceipt(long); !ok || len(r.Reason) != maxRefusal || len(long) > 950 {
		t.Errorf("%d bytes, %+v %v", len(long), r, ok)
	}
	for _, name := range []string{EndOf("1", 2), "", "x", EndPrefix + "1/2/gone/////s/1", EndPrefix + "1/2/ended///s x/1-0", EndPrefix + "a b/2/ended////s/1-0"} {
		if r, ok := ParseReceipt(name); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestValidReplyTo refuses what Fanfold has, in any number of partitions.
func TestValidReplyTo(t *testing.T) {
	t.Parallel()
	for _, keys := range []report.Keys{
		{Prefix: "fanfold:", Hash: "F-", Replies: "my:"}, {Prefix: "{fanfold:3}:", Hash: "{fanfold:3}:F-", Replies: "my:"},
	} {
		for stream, want := range map[string]bool{
			"my:replies": true, "{my:replies}": true, "{my:a}b": true, "my:a{b}": true, "my:": true, "my:" + strings.Repeat("x", 197): true,
			"": false, "my:" + strings.Repeat("x", 198): false, "my:a b": false, "my:a/b": false, "{}my:a": false, "{my:a": false, "my:a}": false, "{my:a}{b}": false, "my:é": false,
			"a": false, "orders": false, "my": false, "xmy:a": false, "{my}:replies": false,
			"fanfold:jobs": false, "{fanfold:0}:jobs": false, "{fanfold:12}:x": false, "F-1111": false,
			"{my:a}:fanfold:receipts": false, // the key of the receipts of my:a
		} {
			if got := ValidReplyTo(stream, keys); got != want {
				t.Errorf("%q beside %s: %v", stream, keys.Prefix, got)
			}
		}
	}
	if ValidReplyTo("my:replies", report.Keys{Prefix: "fanfold:", Hash: "F-"}) {
		t.Error("a stream is valid although none is configured")
	}
	for stream, want := range map[string]string{"a": "{a}:p:receipts", "a{b}c": "a{b}c:p:receipts"} {
		for _, prefix := range []string{"p:", "{p:3}:", "{p:12}:"} { // a requeued firing comes back in any partition
			if got := KnownReceipts(stream, prefix); got != want {
				t.Errorf("%s, not %s", got, want)
			}
		}
	}
}
