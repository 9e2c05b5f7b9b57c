package record

import (
	"strings"

	"github.com/fanfold/fanfold/report"
)

// within returns the condition that a record is in one of some scopes.
func (s reader) within(l *layout, all []report.Scope) (condition string, args []any) {
	some := []string{"1 = 0"}
	for _, one := range all {
		each := []string{"1 = 1"}
		if one.Reports != nil {
			each = append(each, "{report} IN ("+marks(len(one.Reports))+")")
			for _, name := range one.Reports {
				args = append(args, name)
			}
		}
		for name, value := range map[string]string{"owner": one.Owner, "tenant": one.Tenant} {
			if value == "" {
				continue
			}
			column, has := l.optional[name]
			if !has {
				each = append(each, "1 = 0")
				continue
			}
			// The second comparison is for collations that treat two names as equal.
			each = append(each, column+" = ?", strings.ReplaceAll(s.kind.Words["same"], "{person}", column))
			args = append(args, value, value)
		}
		some = append(some, strings.Join(each, " AND "))
	}
	return "(" + strings.Join(some, " OR ") + ")", args
}
