package collation

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// served are the collations that the server has.
func served(t *testing.T, admin *sql.DB) []string {
	t.Helper()
	var names []string
	for name := range known {
		set, _, _ := strings.Cut(name, "_")
		if set == "binary" {
			continue
		}
		var same bool
		if admin.QueryRow(fmt.Sprintf("SELECT CONVERT('a' USING %s) COLLATE %s = 'a'", set, name)).Scan(&same) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) < 7 {
		t.Fatalf("the server has only the collations %s", names)
	}
	return names
}

// randomText returns a text of characters that are near one another in several scripts, so that texts are often equal
// or differ in case, accents and spaces only.
func randomText(r *rand.Rand, latin bool, heads []rune) string {
	pick := func(from string) rune { return []rune(from)[r.IntN(utf8.RuneCountInString(from))] }
	var b []byte
	for range r.IntN(7) {
		char := rune(0)
		switch k := r.IntN(12); {
		case k < 5:
			char = pick("aAbBeE  sS")
		case k < 7 || latin:
			char = pick("äÄáÁéÉßøØ\t\x01!~ñÿÆ")
		case k == 7:
			char = []rune("ẞſςΣσİıﬁǽ̧\u200b\u00adЙйЁ")[r.IntN(15)]
		case k == 8 && len(heads) > 0:
			char = heads[r.IntN(len(heads))]
		case k == 9:
			char = rune(r.IntN(0x3000))
		case k == 10:
			char = rune(0x3040 + r.IntN(0xA000))
		default:
			char = rune(r.IntN(utf8.MaxRune + 1))
		}
		if char == 0 || char >= 0xD800 && char < 0xE000 {
			char = 'a'
		}
		b = utf8.AppendRune(b, char)
	}
	return string(b)
}

// TestAsTheServers: for random texts, order, equality and LIKE are those of the server; keys agree with them.
func TestAsTheServers(t *testing.T) {
	t.Parallel()
	_, admin := testmain.Schema(t)
	seed, rounds := uint64(1), 20
	if text := os.Getenv("FOLD_SEED"); text != "" { // make fuzz
		seed, _ = strconv.ParseUint(text, 10, 64)
		rounds = 1000
	}
	r := rand.New(rand.NewPCG(seed, 2))
	for _, name := range served(t, admin) {
		c := Named(name)
		set, _, _ := strings.Cut(name, "_")
		var heads []rune // of contractions, and what follows them
		if c.ready != nil {
			for text := range c.ready().contractions {
				heads = append(heads, []rune(text)...)
			}
			slices.Sort(heads)
		}
		for range rounds {
			const pairs = 50
			var columns []string
			var texts [][2]string
			found := make([]struct{ less, equal, like bool }, pairs)
			var targets []any
			for i := range pairs {
				a, b := randomText(r, set == "latin1" || set == "ascii", heads), randomText(r, set != "utf8mb4", heads)
				if set == "ascii" {
					a, b = strings.Map(ascii, a), strings.Map(ascii, b)
				}
				if r.IntN(4) == 0 {
					b = a + strings.Repeat(" ", r.IntN(10)) + randomText(r, set != "utf8mb4", nil)
					b = strings.Map(func(c rune) rune {
						if set == "ascii" {
							return ascii(c)
						}
						return c
					}, b)
				}
				texts = append(texts, [2]string{a, b})
				x := fmt.Sprintf("CONVERT(_utf8mb4 x'%x' USING %s) COLLATE %s", a, set, name)
				y := fmt.Sprintf("CONVERT(_utf8mb4 x'%x' USING %s) COLLATE %s", b, set, name)
				columns = append(columns, x+" < "+y, x+" = "+y, x+" LIKE "+y+" ESCAPE '|'")
				targets = append(targets, &found[i].less, &found[i].equal, &found[i].like)
			}
			if err := admin.QueryRow("SELECT " + strings.Join(columns, ", ")).Scan(targets...); err != nil {
				t.Fatal(name, err)
			}
			for i, pair := range texts {
				a, b := []byte(pair[0]), []byte(pair[1])
				want := 1
				if found[i].equal {
					want = 0
				} else if found[i].less {
					want = -1
				}
				if got := c.Compare(a, b); got != want {
					t.Errorf("%s: %+q and %+q compare as %d, want %d", name, a, b, got, want)
				}
				if got := bytes.Compare(c.AppendKey(nil, a), c.AppendKey(nil, b)); got != want {
					t.Errorf("%s: the keys of %+q and %+q compare as %d, want %d", name, a, b, got, want)
				}
				if got := alike(c, pair[0], pair[1]); got != found[i].like && !strings.ContainsAny(pair[1], "%_|") {
					t.Errorf("%s: %+q LIKE %+q is %v", name, a, b, got)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
}

func ascii(c rune) rune {
	if c >= utf8.RuneSelf {
		return 'x'
	}
	return c
}

// alike compares texts character by character.
func alike(c *Collation, a, b string) bool {
	return slices.EqualFunc([]rune(a), []rune(b), c.EqualRunes)
}

// TestKeys: no key is the beginning of another, so that keys can be put together.
func TestKeys(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for name, c := range known {
		for range 2000 {
			a, b := []byte(randomText(r, false, nil)), []byte(randomText(r, false, nil))
			x, y := c.AppendKey(nil, a), c.AppendKey(nil, b)
			if !bytes.Equal(x, y) && (bytes.HasPrefix(x, y) || bytes.HasPrefix(y, x)) {
				t.Errorf("%s: the key of %q begins with that of %q", name, a, b)
			}
			if order := cmp.Compare(c.Compare(a, b), 0); order != bytes.Compare(x, y) {
				t.Errorf("%s: %q and %q compare as %d, their keys as %d", name, a, b, order, bytes.Compare(x, y))
			}
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "binary", "utf8mb3_general_ci": "utf8mb4_general_ci", "utf8_bin": "utf8mb4_bin",
		"uca1400_ai_ci": "utf8mb4_uca1400_ai_ci", "UTF8MB4_UNICODE_CI": "utf8mb4_unicode_ci",
		"utf8mb4_uca1400_nopad_ai_ci": "utf8mb4_uca1400_nopad_ai_ci",
	} {
		if c := Named(name); c.Name() != want || c.Why() != "" {
			t.Errorf("%q: %q, %s", name, c.Name(), c.Why())
		}
	}
	if c := Named("utf8mb4_swedish_ci"); c != Named("utf8mb4_swedish_ci") || c.Why() == "" {
		t.Error(c.Why())
	}
}

func BenchmarkCompare(b *testing.B) {
	x, y := []byte("Anna.Schmidt@example.com"), []byte("anna.schmidt@example.org")
	for _, name := range []string{"binary", "utf8mb4_general_ci", "utf8mb4_uca1400_ai_ci"} {
		b.Run(name, func(b *testing.B) {
			c := Named(name)
			for b.Loop() {
				c.Compare(x, y)
			}
		})
	}
}
