package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// LuaRules returns the tables of Why as a Lua table: job and step are rules, notes is a list of
// rules, phrases and made are maps by name, and severity is a list of kinds.
func LuaRules() string {
	var b strings.Builder
	b.WriteString("{\njob = " + luaRule(jobRule) + ",\nstep = " + luaRule(stepRule) + ",\nnotes = {\n")
	for _, r := range notes {
		b.WriteString(luaRule(r) + ",\n")
	}
	b.WriteString("},\nphrases = {\n")
	for _, name := range slices.Sorted(maps.Keys(phrases)) {
		fmt.Fprintf(&b, "[%q] = %s,\n", name, luaRule(phrases[name]))
	}
	b.WriteString("},\nmade = {\n")
	for _, name := range slices.Sorted(maps.Keys(made)) {
		fmt.Fprintf(&b, "[%q] = %s,\n", name, luaTexts(made[name]))
	}
	fmt.Fprintf(&b, "},\nseverity = %s,\n}", luaTexts(severity))
	return b.String()
}

func luaRule(r rule) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, one := range r {
		fmt.Fprintf(&b, "{when = %q, says = %q", one.when, one.says)
		for _, f := range []struct{ name, text string }{{"kind", string(one.kind)}, {"at", one.at}, {"happens", one.then}} {
			if f.text != "" {
				fmt.Fprintf(&b, ", %s = %q", f.name, f.text)
			}
		}
		fmt.Fprintf(&b, ", more = %s, todo = %s},\n", luaTexts(one.more), luaTexts(one.do))
	}
	return b.String() + "}"
}

func luaTexts[T ~string](texts []T) string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, fmt.Sprintf("%q", string(text)))
	}
	return "{" + strings.Join(quoted, ", ") + "}"
}
