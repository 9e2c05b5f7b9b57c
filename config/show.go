package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// View is a configuration as it is in force: one file without includes, anchors and variables, with the defaults.
// Every secret in it is decode.Mask.
type View struct {
	Config  *Config
	File    *yaml.Node   // the whole file, or a part of it
	Reports []ReportView // by name
}

// ReportView is what follows from the configuration of a report.
type ReportView struct {
	Report     string         `json:"report"`
	Definition string         `json:"definition"` // the hash
	Stages     [][]StagedView `json:"stages"`
	Schedules  []ScheduleView `json:"schedules"`
	File       any            `json:"file,omitempty"` // fields that follow from others, as in the configuration
}

// StagedView is a listener in a stage.
type StagedView struct {
	Listener string   `json:"listener"`
	Needs    []string `json:"needs"` // the listeners that must be done before
}

// ScheduleView is a schedule of a report.
type ScheduleView struct {
	Timer      string          `json:"timer"` // its name in Redis
	When       string          `json:"when"`  // cron or period
	TimeZone   string          `json:"time_zone"`
	Parameters json.RawMessage `json:"parameters"`
}

// Show reads a configuration as Load does, and returns its view. The errors are those of Load.
func Show(name string, data []byte, env decode.Environment, kinds Kinds) (*View, error) {
	f, r := new(file), decode.NewReader(name, env, kinds.language())
	c, err := load(f, r, kinds, data)
	if err != nil {
		return nil, err
	}
	v := &View{Config: c, File: r.Encode(f)}
	timers := c.Timers.Schedules()
	for _, name := range c.ReportNames() {
		one := viewOf(c.Reports[name], timers[name])
		v.Reports = append(v.Reports, one)
		reports := entryOf(v.File, "reports")
		for i := 0; i+1 < len(reports.Content); i += 2 {
			if key := reports.Content[i]; key.Value == name {
				key.HeadComment = one.comment()
			}
		}
	}
	return v, nil
}

// viewOf returns the view of a report with the timers of its schedules.
func viewOf(r *report.Report, timers report.Timers) ReportView {
	v := ReportView{Report: r.Name, Definition: r.Hash(), Schedules: []ScheduleView{}}
	if o, ok := r.File.Options.(interface{ InForce() any }); ok {
		v.File = o.InForce()
	}
	for _, s := range r.Stages {
		var stage []StagedView
		for _, l := range s.Listeners {
			stage = append(stage, StagedView{l.Name, append([]string{}, l.Needs()...)})
		}
		v.Stages = append(v.Stages, stage)
	}
	for _, t := range timers {
		zone := t.TimeZone
		if zone == "" {
			zone = "UTC"
		}
		v.Schedules = append(v.Schedules, ScheduleView{t.Key.String(), t.Cron.String() + t.Every.String(), zone,
			t.Schedule.Parameters})
	}
	return v
}

// comment returns the view for people, as a comment of the file.
func (v ReportView) comment() string {
	lines := []string{"# definition: " + v.Definition}
	for i, stage := range v.Stages {
		var names []string
		for _, l := range stage {
			if len(l.Needs) > 0 {
				l.Listener += " (after " + strings.Join(l.Needs, ", ") + ")"
			}
			names = append(names, l.Listener)
		}
		lines = append(lines, fmt.Sprintf("# stage %d: %s", i+1, strings.Join(names, ", ")))
	}
	for _, s := range v.Schedules {
		lines = append(lines, fmt.Sprintf("# %s: %s %s", s.Timer, s.When, s.TimeZone))
	}
	if v.File != nil {
		lines = append(lines, "# file: "+string(report.EncodeBound(v.File)))
	}
	return strings.Join(lines, "\n")
}

// entryOf returns the value of a name in a mapping.
func entryOf(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return &yaml.Node{Kind: yaml.MappingNode}
}

// Only reduces a view to a report of the configuration.
func (v *View) Only(name string) {
	reports := entryOf(v.File, "reports")
	for i := 0; i+1 < len(reports.Content); i += 2 {
		if reports.Content[i].Value == name {
			one := &yaml.Node{Kind: yaml.MappingNode, Content: reports.Content[i : i+2]}
			v.File = &yaml.Node{Kind: yaml.MappingNode,
				Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "reports"}, one}}
		}
	}
	v.Reports = slices.DeleteFunc(v.Reports, func(r ReportView) bool { return r.Report != name })
}

// YAML returns the file. It is a valid configuration, once the secrets are in place of their masks.
func (v *View) YAML() ([]byte, error) {
	var text bytes.Buffer
	d, err := yaml.NewDumper(&text, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err == nil {
		err = errors.Join(d.Dump(v.File), d.Close())
	}
	return text.Bytes(), err
}

// JSON returns a value whose JSON has the file as configuration, in its order, and the reports.
func (v *View) JSON() any {
	return struct {
		Configuration jsonNode     `json:"configuration"`
		Reports       []ReportView `json:"reports"`
	}{jsonNode{v.File}, v.Reports}
}

// jsonNode is YAML that is written as JSON.
type jsonNode struct{ *yaml.Node }

// MarshalJSON keeps the order of mappings. Dates and words such as off are texts.
func (n jsonNode) MarshalJSON() ([]byte, error) {
	var parts []string
	open, end := "[", "]"
	for i := 0; i < len(n.Content); i++ {
		text := ""
		if n.Kind == yaml.MappingNode {
			open, end, text = "{", "}", string(report.EncodeBound(n.Content[i].Value))+":"
			i++
		}
		value, err := jsonNode{n.Content[i]}.MarshalJSON()
		if err != nil {
			return nil, err
		}
		parts = append(parts, text+string(value))
	}
	switch tag := n.ShortTag(); {
	case n.Kind == yaml.MappingNode && len(parts) == 0:
		return []byte("{}"), nil
	case n.Kind != yaml.ScalarNode:
		return []byte(open + strings.Join(parts, ",") + end), nil
	case tag == "!!null":
		return []byte("null"), nil
	case tag == "!!bool":
		return []byte(strings.ToLower(n.Value)), nil
	case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(n.Value)):
		return []byte(n.Value), nil
	}
	return report.EncodeBound(n.Value), nil
}
