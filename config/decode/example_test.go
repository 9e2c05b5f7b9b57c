package decode_test

import (
	"fmt"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

type garden struct {
	Gate  report.Secret `yaml:"gate" file:"gate_file"`
	Beds  []bed         `yaml:"beds" min:"1" need:"Plant something"`
	Water time.Duration `yaml:"water" default:"8h" min:"1h"`
	Rain  bool          `yaml:"rain" enum:"ignore,wait" default:"wait"`
}

type bed struct {
	Name string `key:"bed"`
	Crop string `yaml:"crop" short:"" need:"Say what grows here"`
	Rows int    `yaml:"rows" default:"1" min:"1" max:"9"`
}

var language = decode.Language{
	Forms: map[string]func(string) *report.Mistake{"bed": func(text string) *report.Mistake {
		if len(text) > 5 {
			return &report.Mistake{Message: "a name of more than 5 letters"}
		}
		return nil
	}},
}

func read(text string) (*garden, *decode.Reader) {
	g := &garden{}
	r := decode.NewReader("garden.yaml", decode.Environment{
		Lookup: func(name string) (string, bool) { return "basil", name == "HERB" },
	}, language)
	r.Decode([]byte(text), g)
	return g, r
}

func ExampleReader() {
	g, r := read(`
beds:
  north: "${HERB}"
  south: {crop: beans, rows: 3}
rain: ignore
gate: open sesame
`)
	fmt.Println(len(r.Problems()), g.Gate, g.Water, g.Rain)
	for i, b := range g.Beds {
		fmt.Println(b.Name, b.Crop, b.Rows, r.Of(&g.Beds[i]).Line)
	}
	// Output:
	// 0 *** 8h0m0s false
	// north basil 1 3
	// south beans 3 4
}

func ExampleReader_problems() {
	_, r := read(`
beds:
  northern: beans
  south: {rows: 10}
watre: 5m
rain: hope
gate: [open sesame]
gate_file: /run/secrets/gate
`)
	fmt.Println(r.Problems())
	// Output:
	// garden.yaml:3:3: beds.northern: a name of more than 5 letters (value "northern")
	// garden.yaml:4:3: beds.south.crop: missing. Say what grows here
	// garden.yaml:4:17: beds.south.rows: not a whole number from 1 to 9 (value "10")
	// garden.yaml:5:1: watre: unknown field. Did you mean "water"? The fields are gate, gate_file, beds, water, rain
	// garden.yaml:5:8: watre: not a duration from 1h to 720h (value "5m")
	// garden.yaml:6:7: rain: neither ignore nor wait (value "hope")
	// garden.yaml:8:12: gate_file: both gate and gate_file are set (value "/run/secrets/gate"). Remove one of them
}
