package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
)

// chartFolder is the Helm chart. The test renders it without Helm.
const chartFolder = "../../deploy/helm"

// rendered renders the templates of the chart with its values and some changes to them.
func rendered(t *testing.T, changes string) (values map[string]any, files map[string]string) {
	t.Helper()
	var about struct {
		AppVersion string `yaml:"appVersion"`
	}
	yamlOf(t, read(t, filepath.Join(chartFolder, "Chart.yaml")), &about)
	yamlOf(t, read(t, filepath.Join(chartFolder, "values.yaml")), &values)
	var more map[string]any
	yamlOf(t, changes, &more)
	for name := range more {
		if _, ok := values[name]; !ok {
			t.Fatalf("the chart has no value %s", name)
		}
	}
	maps.Copy(values, more)
	set := template.New("chart").Option("missingkey=error")
	set.Funcs(template.FuncMap{ // as Helm has them
		"include": func(name string, dot any) (string, error) {
			var out strings.Builder
			err := set.ExecuteTemplate(&out, name, dot)
			return out.String(), err
		},
		"nindent":   func(n int, text string) string { return "\n" + indented(n, text) },
		"toYaml":    func(v any) (string, error) { text, err := yaml.Marshal(v); return strings.TrimSpace(string(text)), err },
		"quote":     func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"default": func(other, v any) any {
			if v == nil || v == "" {
				return other
			}
			return v
		},
		"required": func(message string, v any) (any, error) {
			if v == nil || v == "" {
				return nil, errors.New(message)
			}
			return v, nil
		},
	})
	names, err := filepath.Glob(filepath.Join(chartFolder, "templates", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		template.Must(set.New(filepath.Base(name)).Parse(read(t, name)))
	}
	files = map[string]string{}
	for _, name := range names {
		var out strings.Builder
		dot := map[string]any{"Values": values, "Release": map[string]any{"Name": "trial"}, "Chart": map[string]any{"AppVersion": about.AppVersion}}
		if err := set.ExecuteTemplate(&out, filepath.Base(name), dot); err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = out.String()
	}
	return values, files
}

func indented(n int, text string) string {
	space := strings.Repeat(" ", n)
	return space + strings.ReplaceAll(text, "\n", "\n"+space)
}

func yamlOf(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// pod has the fields of a pod that the chart uses. The test fails on other fields.
type pod struct {
	Grace           int            `yaml:"terminationGracePeriodSeconds"`
	Token           *bool          `yaml:"automountServiceAccountToken"`
	Account         string         `yaml:"serviceAccountName"`
	SecurityContext map[string]any `yaml:"securityContext"`
	InitContainers  []container    `yaml:"initContainers"`
	Containers      []container
	Volumes         []map[string]any
}

type container struct {
	Name, Image     string
	ImagePullPolicy string `yaml:"imagePullPolicy"`
	Args            []string
	SecurityContext map[string]any `yaml:"securityContext"`
	Env             []struct{ Name, Value string }
	EnvFrom         []map[string]struct{ Name string } `yaml:"envFrom"`
	VolumeMounts    []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	StartupProbe struct {
		probe            `yaml:",inline"`
		PeriodSeconds    int `yaml:"periodSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	} `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	Resources      map[string]map[string]string
}

type deployment struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		Replicas int
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     pod
		}
	}
}

// TestChart renders the Helm chart with several sets of values and checks the objects as far as
// parsers of templates and YAML can.
func TestChart(t *testing.T) {
	t.Parallel()
	sums := map[string]bool{}
	for name, changes := range map[string]string{
		"as it is": "",
		"all of it": `
secret: fanfold
env: {FANFOLD_SINK: "gs://bucket/a b", QUOTED: 'a "b": ${c}'}
image: {repository: r.example.com/f, tag: v1, pullPolicy: Always}
filesClaim: files
serviceAccount: writer
config: "redis: redis://r\ndatabases: {main: {dsn: \"u@tcp(h)/s\"}}\nrecords: {database: main}\nsink: gs://bucket/x\nadmin: 0.0.0.0:9464\nadmin_public: true\nreports: {r: {stages: [{listeners: [{name: a, database: main, query: 'SELECT 1 AS x'}]}]}}\n"
deployments:
  engine: {replicas: 1, args: ["--roles=engine", "--http=127.0.0.1:8080"], migrate: true, resources: null}
  scheduler: {replicas: 1, args: ["--roles=scheduler"], migrate: false, resources: null}
  listeners: {replicas: 3, args: ["--roles=listeners", "--listeners=a,b.*"], migrate: false, resources: null}
`,
	} {
		values, files := rendered(t, changes)
		var made struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct {
				Name   string
				Labels map[string]string
			}
			Data map[string]string
		}
		yamlOf(t, files["config.yaml"], &made)
		text := made.Data["fanfold.yaml"]
		if made.Kind != "ConfigMap" || made.APIVersion != "v1" || text != values["config"] {
			t.Errorf("%s: %+v", name, made)
		}
		set := map[string]string{"FANFOLD_REDIS": "redis://r", "FANFOLD_DSN": "u:p@tcp(h)/s"}
		c, err := config.Load("values.yaml", []byte(text), decode.Environment{Lookup: func(name string) (string, bool) { v, ok := set[name]; return v, ok }})
		if err != nil || len(c.Warnings) > 0 {
			t.Fatalf("%s: %v %v", name, err, c)
		}
		port, _ := strconv.Atoi(c.Admin[strings.LastIndexByte(c.Admin, ':')+1:])
		var roles []string
		decoder := yaml.NewDecoder(bytes.NewReader([]byte(files["deployments.yaml"])))
		decoder.KnownFields(true)
		migrates := 0
		for {
			var d deployment
			if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, files["deployments.yaml"])
			}
			roles = append(roles, d.proved(t, name, port, int(c.Limits.Stop.Seconds()))...)
			sums[d.Spec.Template.Metadata.Annotations["checksum/config"]] = true
			for _, init := range d.Spec.Template.Spec.InitContainers {
				migrates++
				command, rest, err := newRoot().Find(init.Args)
				if err != nil || command.Name() != "migrate" || command.ParseFlags(rest) != nil {
					t.Errorf("%s: %q", name, init.Args)
				}
			}
			first := d.Spec.Template.Spec.Containers[0]
			if changes != "" && (first.Image != "r.example.com/f:v1" || first.EnvFrom[0]["secretRef"].Name != "fanfold" || len(first.Env) != 3 || first.Env[2].Value != `a "b": ${c}` ||
				d.Spec.Template.Spec.Account != "writer" || len(d.Spec.Template.Spec.Volumes) != 3) {
				t.Errorf("%s: %+v", name, first)
			}
		}
		slices.Sort(roles)
		if want := slices.Sorted(slices.Values(process.Roles)); !slices.Equal(roles, want) || migrates != 1 {
			t.Errorf("%s: roles %q, %d migrate", name, roles, migrates)
		}
		for _, line := range regexp.MustCompile(`/usr/bin/fanfold (.*)`).FindAllStringSubmatch(files["NOTES.txt"], -1) {
			command, rest, err := newRoot().Find(strings.Fields(line[1]))
			if err != nil || command.ParseFlags(rest) != nil {
				t.Errorf("%s: %v", line[1], err)
			}
		}
	}
	if len(sums) != 2 {
		t.Errorf("%d checksums of two configurations", len(sums))
	}
}

// proved checks a Deployment and returns the roles of its processes.
func (d deployment) proved(t *testing.T, name string, port, stop int) []string {
	t.Helper()
	spec := d.Spec.Template.Spec
	c := spec.Containers[0]
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" || d.Spec.Replicas < 1 || len(d.Spec.Selector.MatchLabels) != 3 || !maps.Equal(d.Spec.Selector.MatchLabels, d.Spec.Template.Metadata.Labels) {
		t.Errorf("%s: %+v", name, d)
	}
	if spec.Grace < stop+5 || spec.Token == nil || *spec.Token || spec.SecurityContext["runAsNonRoot"] != true || c.SecurityContext["readOnlyRootFilesystem"] != true {
		t.Errorf("%s: %+v", name, spec)
	}
	if s := c.StartupProbe; s.HTTPGet.Path != "/livez" || s.HTTPGet.Port != port || s.FailureThreshold*s.PeriodSeconds < 60 {
		t.Errorf("%+v", s)
	}
	if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Port != port || c.ReadinessProbe.HTTPGet.Port != port ||
		c.Ports[0].ContainerPort != port || d.Spec.Template.Metadata.Annotations["prometheus.io/port"] != strconv.Itoa(port) {
		t.Errorf("%s: %+v", name, c)
	}
	var mounts []string
	for _, m := range c.VolumeMounts {
		mounts = append(mounts, m.Name)
		if !slices.ContainsFunc(spec.Volumes, func(v map[string]any) bool { return v["name"] == m.Name }) {
			t.Errorf("%s: no volume %s", name, m.Name)
		}
	}
	if len(mounts) != len(spec.Volumes) || c.VolumeMounts[0].MountPath != "/etc/fanfold" || c.Env[0].Name != "TMPDIR" || c.Env[0].Value != c.VolumeMounts[1].MountPath {
		t.Errorf("%s: %v %+v", name, mounts, spec.Volumes)
	}
	command, rest, err := newRoot().Find(c.Args)
	if err == nil {
		err = command.ParseFlags(rest)
	}
	if err != nil || command.Name() != "serve" {
		t.Fatalf("%s: %q: %v", name, c.Args, err)
	}
	file, _ := command.Flags().GetString("config")
	roles, _ := command.Flags().GetStringSlice("roles")
	if file != "/etc/fanfold/fanfold.yaml" {
		t.Errorf("%s: configuration %s", name, file)
	}
	return roles
}
