package report

import (
	"reflect"
	"slices"
	"testing"
)

// TestHashOfEveryField: every field of a listener is part of a definition's hash, or is known not to be.
func TestHashOfEveryField(t *testing.T) {
	t.Parallel()
	hash := func(l *Listener) string {
		return (&Report{Stages: []Stage{{Listeners: []Listener{*l}}}}).Hash()
	}
	apart := []string{"Label", "File", "Line", "Timeout", "Retry", "From", "After", "Silence", "Overall", "Divide"}
	for field := range reflect.TypeFor[Listener]().Fields() {
		l := &Listener{}
		switch f := reflect.ValueOf(l).Elem().FieldByIndex(field.Index); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int64:
			f.SetInt(1)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]string{"a": "1"}))
		case reflect.Interface:
			f.Set(reflect.ValueOf("x"))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Struct:
			f.Field(0).SetInt(1)
		}
		if changes := hash(l) != hash(&Listener{}); changes == slices.Contains(apart, field.Name) {
			t.Errorf("%s changes the hash: %t; add it to Hash, or to apart", field.Name, changes)
		}
	}
}
