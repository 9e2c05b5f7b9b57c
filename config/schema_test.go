package config

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// TestSchemaIsThatOfTheFields compares schema.json with the tags and comments of the
// fields, and with -update writes it.
func TestSchemaIsThatOfTheFields(t *testing.T) {
	t.Parallel()
	texts := comments(t)
	want, err := makeSchema(TestKinds, func(_ string, of reflect.Type, f decode.Field) string {
		text := texts[commented(of, f)]
		if text == "" {
			t.Errorf("%s has no comment", commented(of, f))
		}
		return link.ReplaceAllString(text, "$1") // an editor would show a link as it is written
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return // this program still contains the schema of before
	}
	if !bytes.Equal(standardSchema, want) {
		t.Error("schema.json is not that of the fields (write it with: go test ./config -run TestSchemaIsThatOfTheFields -update)")
	}
	if got, err := Schema(TestKinds); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Schema returns another schema than that of the fields: %v", err)
	}
}

var link = regexp.MustCompile(`\[([^][]+)\]\([^()]+\)`)

// validator returns what validates a YAML file by the schema.
func validator(t testing.TB) func(file string) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(standardSchema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(file string) error {
		var document yaml.Node
		if err := yaml.Load([]byte(file), &document); err != nil {
			return err
		}
		return compiled.Validate(plain(document.Content[0]))
	}
}

// plain makes JSON of YAML as editors do. A null is as if it was not there, as for Load.
func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return plain(n.Alias)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, plain(item))
		}
		return list
	case yaml.MappingNode:
		object := fields(n)
		maps.DeleteFunc(object, func(_ string, value any) bool { return value == nil })
		return object
	}
	switch n.Tag {
	case "!!null", "!!bool", "!!int", "!!float":
		var value any
		if err := n.Load(&value); err != nil {
			return n.Value
		}
		if i, ok := value.(int); ok {
			return float64(i)
		}
		return value
	}
	return n.Value
}

// fields returns the values of a mapping, nulls and merged ones included. Its own values win, then those of
// an earlier merge.
func fields(n *yaml.Node) map[string]any {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	own, merged := map[string]any{}, map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag != "!!merge" {
			own[key.Value] = plain(value)
			continue
		}
		from := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			from = value.Content
		}
		for _, base := range slices.Backward(from) {
			maps.Copy(merged, fields(base))
		}
	}
	maps.Copy(merged, own)
	return merged
}

func TestSchemaTakesWhatLoadTakes(t *testing.T) {
	t.Parallel()
	validate := validator(t)
	files := map[string]string{"base": base, "http": httpBase,
		"fields of S3": strings.Replace(base, "sink: gs://reports/exports", "sink: {url: s3://reports, endpoint: 'https://h'}", 1) +
			"spool: {url: s3://spool, above: 2MB, part_size: 16MB}\n"}
	for _, pattern := range []string{"testdata/*.yaml", "../cmd/fanfold/demo/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
	}
	for name, file := range files {
		if err := validate(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefuses what an editor should underline.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	validate := validator(t)
	for _, edit := range [][2]string{
		{"sink:", "snik:"},
		{"sink: gs://reports/exports", "sink: nowhere://reports"},
		{"sink: gs://reports/exports", "sink: {url: gs://reports, endpoint: 'https://h'}"},
		{"sink: gs", "spool: {above: 2MB}\nsink: gs"},
		{"redis: redis://127.0.0.1:6379/0\n", ""},
		{"records: {database: main}", "records: {table: x}"},
		{`tasks: "${TASKS}"`, "tasks: 0"},
		{`tasks: "${TASKS}"`, "tasks: many"},
		{`tasks: "${TASKS}"`, "recover_after: 10"},
		{`tasks: "${TASKS}"`, "job_bytes: 1TB"},
		{`tasks: "${TASKS}"`, "compress: gzip"},
		{"timeout: 2h", "timeout: soon"},
		{"timeout: 2h", "retry: {backoff: linear}"},
		{"type: left", "type: outer"},
		{"since: date", "since: text"},
		{"shop.users: {database", "shop.users: {batch: 10, database"},
		{"shop.users: {database", "shop.users: {kind: external, database"},
		{"      key: id\n", "      key: {a: b}\n"},
		{"    listeners:\n      shop", "    listener:\n      shop"},
	} {
		if strings.Count(base, edit[0]) != 1 {
			t.Fatalf("base has %q more than once, or not", edit[0])
		}
		if validate(strings.Replace(base, edit[0], edit[1], 1)) == nil {
			t.Errorf("%s is no error", edit[1])
		}
	}
	for _, timer := range []string{"{key: a, evry: 1d}", "{append: {stream: s}}", "{key: a, missed: never, append: {stream: s}}", "{key: a, call: {method: GET}}"} {
		if validate(base+"timers: {x: "+timer+"}\n") == nil {
			t.Errorf("%s is no error", timer)
		}
	}
}
