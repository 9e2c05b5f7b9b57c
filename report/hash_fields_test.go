package report

import (
	"reflect"
	"slices"
	"testing"
)

// TestHashOfEveryField: every field of a listener is part of a definition's hash, or is known not to be.
func TestHashOfEveryField(t *testing.T) {
	t.Parallel()
	everyField(t, func(l *Listener) string {
		return (&Report{Stages: []Stage{{Listeners: []Listener{*l}}}}).Hash()
	}, "Label", "File", "Line", "Timeout", "Retry", "OnFailure", "From", "After", "Silence", "Overall", "Divide")
}

// TestListenerHashOfEveryField does the same for the hash of a listener. What a file has without it is not part of it.
func TestListenerHashOfEveryField(t *testing.T) {
	t.Parallel()
	everyField(t, func(l *Listener) string {
		return ListenerHash(&Report{Stages: []Stage{{Listeners: []Listener{*l}}}}, l)
	}, "Label", "File", "Line", "Timeout", "Retry", "OnFailure", "Silence", "Overall", "Optional", "Values")
}

// TestListenerHashOfItsSources: the listeners whose columns a listener uses are part of its hash, and the parameters.
func TestListenerHashOfItsSources(t *testing.T) {
	t.Parallel()
	hash := func(change func(*Report)) string {
		r := &Report{
			Parameters: []Parameter{{Name: "b", Type: ParamString}, {Name: "a", Type: ParamString}},
			Stages: []Stage{
				{Listeners: []Listener{{Name: "a", Own: "1"}, {Name: "other", Own: "1"}}},
				{Listeners: []Listener{{Name: "b", From: &Ref{"a", "k"}, Divide: &Divide{By: "k", Line: 1}}}},
				{Listeners: []Listener{{Name: "c", After: []string{"b"}}}},
			},
		}
		change(r)
		return ListenerHash(r, &r.Stages[2].Listeners[0])
	}
	same := hash(func(*Report) {})
	for name, change := range map[string]func(*Report){
		"the listener before it": func(r *Report) { r.Stages[1].Listeners[0].Source = "x" },
		"the first listener":     func(r *Report) { r.Stages[0].Listeners[0].Own = "2" },
		"a parameter":            func(r *Report) { r.Parameters[0].Type = ParamInteger },
		"the time zone":          func(r *Report) { r.TimeZone = "Asia/Tokyo" },
		"the division":           func(r *Report) { r.Stages[1].Listeners[0].Divide.By = "l" },
	} {
		if hash(change) == same {
			t.Errorf("%s does not change the hash", name)
		}
	}
	for name, change := range map[string]func(*Report){
		"another listener":            func(r *Report) { r.Stages[0].Listeners[1].Own = "2" },
		"the order of the parameters": func(r *Report) { slices.Reverse(r.Parameters) },
		"the file":                    func(r *Report) { r.File.Format = "x" },
		"the place in the file":       func(r *Report) { r.Stages[1].Listeners[0].Divide.Line = 2 },
	} {
		if hash(change) != same {
			t.Errorf("%s changes the hash", name)
		}
	}
}

func everyField(t *testing.T, hash func(l *Listener) string, apart ...string) {
	t.Helper()
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
