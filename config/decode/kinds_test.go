package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/decode"
)

type pond struct {
	Bed   string `yaml:"bed" default:"clay"`
	Plant string `yaml:"plant" kinds:"plant" short:""`
	Own   any    `of:"plant"`
}

type lily struct {
	Leaves int `yaml:"leaves" default:"3" min:"1" max:"9"`
}

type reed struct {
	Height int `yaml:"height" default:"2" min:"1" max:"4"`
}

// TestKinds: the fields of a kind stand beside the field that chooses it, with their defaults, and
// those of another kind are unknown.
func TestKinds(t *testing.T) {
	t.Parallel()
	kinds := decode.Language{Kinds: map[string][]decode.Kind{"plant": {
		{Name: "lily", Fields: func() any { return new(lily) }},
		{Name: "reed", Fields: func() any { return new(reed) }},
		{Name: "moss"},
	}}}
	for _, test := range []struct {
		text string
		want pond
		own  any
	}{
		{"pond: {}", pond{Bed: "clay", Plant: "lily"}, lily{3}},
		{"pond: {leaves: 4, bed: sand}", pond{Bed: "sand", Plant: "lily"}, lily{4}},
		{"pond: {height: 3, plant: \"${PLANT}\"}", pond{Bed: "clay", Plant: "reed"}, reed{3}},
		{"pond: reed", pond{Bed: "clay", Plant: "reed"}, reed{2}},
		{"pond: {plant: moss}", pond{Bed: "clay", Plant: "moss"}, nil},
		{"{}", pond{Bed: "clay", Plant: "lily"}, lily{3}},
	} {
		var garden struct {
			Pond pond `yaml:"pond"`
		}
		r := decode.NewReader("f.yaml", decode.Environment{Lookup: func(name string) (string, bool) { return "reed", name == "PLANT" }}, kinds)
		r.Decode([]byte(test.text), &garden)
		own := garden.Pond.Own
		switch fields := own.(type) {
		case *lily:
			own = *fields
		case *reed:
			own = *fields
		}
		garden.Pond.Own = nil
		if problems := r.Problems(); len(problems) > 0 || garden.Pond != test.want || own != test.own {
			t.Errorf("%s: %+v with %+v, %v", test.text, garden.Pond, own, problems)
		}
	}
	for text, want := range map[string]string{
		"pond: {leaves: 10}":          "pond.leaves: not a whole number from 1 to 9",
		"pond: {plant: rose}":         "pond.plant: not one of lily, reed or moss",
		"pond: {height: 1}":           "pond.height: unknown field",
		"pond: {plant: [reed]}":       "pond.plant: ",
		"pond: {plant: moss, x: 1}":   "The fields are bed, plant",
		"pond: {plant: reed, hight:}": `Did you mean "height"? The fields are bed, plant, height`,
	} {
		var garden struct {
			Pond pond `yaml:"pond"`
		}
		r := decode.NewReader("f.yaml", decode.Environment{}, kinds)
		r.Decode([]byte(text), &garden)
		if problems := r.Problems(); len(problems) == 0 || !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, want %s", text, problems, want)
		}
	}
}

// TestChoice: the own fields of a kind are the value of the field with its name.
func TestChoice(t *testing.T) {
	t.Parallel()
	kinds := decode.Language{Kinds: map[string][]decode.Kind{"plant": {
		{Name: "lily", Fields: func() any { return new(lily) }},
		{Name: "reed", Fields: func() any { return new(reed) }},
	}}}
	type bed struct {
		Soil string `yaml:"soil" default:"clay"`
		Own  any    `choice:"plant"`
	}
	for text, want := range map[string]string{
		"bed: {lily: {leaves: 4}}":     "&{4}",
		"bed: {reed: {}, soil: x}":     "&{2}",
		"bed: {reed: {}, lily: {}}":    "&{3}",
		"bed: {soil: x}":               "<nil>",
		"bed: {lily: {leaves: 10}}":    "bed.lily.leaves: not a whole number from 1 to 9",
		"bed: {reeds: {}}":             `Did you mean "reed"? The fields are soil, lily, reed`,
		"bed: {reed: {height: 1, a:}}": "bed.reed.a: unknown field",
	} {
		var garden struct {
			Bed bed `yaml:"bed"`
		}
		r := decode.NewReader("f.yaml", decode.Environment{}, kinds)
		r.Decode([]byte(text), &garden)
		if got := fmt.Sprint(garden.Bed.Own, r.Problems()); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
