package command

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
)

// chartFolder is the Helm chart. The test renders it without Helm.
const chartFolder = "../../../deploy/helm"

// helmBinary is the variable with the path of Helm: see make chart. If it is set, Helm renders the
// templates a second time, and the test reads what Helm has written.
const helmBinary = "FANFOLD_HELM"

// withHelm replaces the rendered objects by those of Helm.
func withHelm(t *testing.T, helm, changes string, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	oldest := regexp.MustCompile(`kubeVersion: ">=([0-9.]+)`).FindStringSubmatch(read(t, filepath.Join(chartFolder, "Chart.yaml")))[1]
	values := filepath.Join(dir, "values.yaml")
	if err := os.WriteFile(values, []byte(changes), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"lint", "--strict", chartFolder}, {"template", "trial", chartFolder, "--output-dir", dir}} {
		if out, err := exec.CommandContext(t.Context(), helm, append(args, "--values", values, "--kube-version", oldest)...).CombinedOutput(); err != nil {
			t.Fatalf("helm %q: %v\n%s", args, err, out)
		}
	}
	for name := range files {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "fanfold", "templates", name))
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || strings.TrimSpace(files[name]) != "") {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
}

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
		"int":  func(v any) int { n, _ := v.(int); return n },
		"fail": func(message string) (string, error) { return "", errors.New(message) },
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
	if helm := os.Getenv(helmBinary); helm != "" {
		withHelm(t, helm, changes, files)
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

// TestChart renders the Helm chart with several sets of values and checks the objects as far as
// parsers of templates and YAML can.
func TestChart(t *testing.T) {
	t.Parallel()
	sums := map[string]bool{}
	for name, changes := range map[string]string{
		"as it is": "",
		"all of it": `
secret: fanfold
migrateSecret: owner
secretFiles: [tls, users]
http: {port: 8081, service: {type: NodePort, annotations: {a: b}}, ingress: {host: reports.example.com, className: nginx, tlsSecret: cert, annotations: {c: d}}}
maxUnavailable: 2
env: {FANFOLD_SINK: "gs://bucket/a b", QUOTED: 'a "b": ${c}'}
image: {repository: r.example.com/f, tag: v1, pullPolicy: Always}
filesClaim: files
serviceAccount: writer
config: "redis: redis://r\ndatabases: {main: {dsn: \"u@tcp(h)/s\"}}\nrecords: {database: main}\nsink: gs://bucket/x\nadmin: {listen: 0.0.0.0:9464, public: true}\nreports: {r: {listeners: {a: {database: main, query: 'SELECT 1 AS x'}}}}\n"
deployments:
  engine: {replicas: 1, args: ["--roles=engine"], migrate: true, http: true, resources: null}
  scheduler: {replicas: 1, args: ["--roles=scheduler"], migrate: false, http: false, resources: null}
  listeners: {replicas: 3, args: ["--roles=listeners", "--listeners=a,b.*"], migrate: false, http: false, resources: null}
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
		c, err := config.Load("values.yaml", []byte(text), decode.Environment{Lookup: func(name string) (string, bool) { v, ok := set[name]; return v, ok }}, kinds.Standard().Config())
		if err != nil || len(c.Warnings) > 0 {
			t.Fatalf("%s: %v %v", name, err, c)
		}
		port, _ := strconv.Atoi(c.Admin.Listen[strings.LastIndexByte(c.Admin.Listen, ':')+1:])
		var roles []string
		migrates := 0
		for _, d := range decoded[deployment](t, files["deployments.yaml"]) {
			roles = append(roles, d.proved(t, name, port, int(c.Limits.ShutdownTimeout.Seconds()))...)
			sums[d.Spec.Template.Metadata.Annotations["checksum/config"]] = true
			for _, init := range d.Spec.Template.Spec.InitContainers {
				migrates++
				command, rest, err := newRoot(kinds.Standard()).Find(init.Args)
				if err != nil || command.Name() != "migrate" || command.ParseFlags(rest) != nil {
					t.Errorf("%s: %q", name, init.Args)
				}
				if want := map[bool]string{true: "fanfold owner"}[changes != ""]; secrets(init) != want {
					t.Errorf("%s: migrate has the secrets %q, not %q", name, secrets(init), want)
				}
			}
			first := d.Spec.Template.Spec.Containers[0]
			if changes != "" && (first.Image != "r.example.com/f:v1" || secrets(first) != "fanfold" || len(first.Env) != 3 || first.Env[2].Value != `a "b": ${c}` ||
				d.Spec.Template.Spec.Account != "writer" || len(d.Spec.Template.Spec.Volumes) != 5) {
				t.Errorf("%s: %+v", name, first)
			}
		}
		slices.Sort(roles)
		if want := slices.Sorted(slices.Values(process.Roles)); !slices.Equal(roles, want) || migrates != 1 {
			t.Errorf("%s: roles %q, %d migrate", name, roles, migrates)
		}
		reached(t, name, changes != "", files)
		for _, line := range regexp.MustCompile(`/usr/bin/fanfold (.*)`).FindAllStringSubmatch(files["NOTES.txt"], -1) {
			command, rest, err := newRoot(kinds.Standard()).Find(strings.Fields(line[1]))
			if err != nil || command.ParseFlags(rest) != nil {
				t.Errorf("%s: %v", line[1], err)
			}
		}
	}
	if len(sums) != 2 {
		t.Errorf("%d checksums of two configurations", len(sums))
	}
}

// reached checks what stands before the pods: with all values, a Service and an Ingress that reach the port
// of the pods, and in any case a budget for every Deployment of several pods.
func reached(t *testing.T, name string, all bool, files map[string]string) {
	t.Helper()
	deployments := decoded[deployment](t, files["deployments.yaml"])
	var open []container
	several := map[string]deployment{}
	before := decoded[reach](t, files["http.yaml"])
	for _, d := range deployments {
		if d.Spec.Replicas > 1 {
			several[d.Metadata.Name] = d
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			if slices.Contains(c.Args, "--http=0.0.0.0:8081") {
				open = append(open, c)
			}
		}
		if labels := d.Spec.Template.Metadata.Labels; all && selects(texts(before[0].Spec.Selector), labels) != strings.HasSuffix(d.Metadata.Name, "-engine") {
			t.Errorf("%s: the Service and %s: %v", name, d.Metadata.Name, labels)
		}
	}
	for _, b := range decoded[reach](t, files["disruption.yaml"]) {
		d, ok := several[b.Metadata.Name]
		match, _ := b.Spec.Selector["matchLabels"].(map[string]any)
		if !ok || b.Kind != "PodDisruptionBudget" || b.APIVersion != "policy/v1" || b.Spec.MaxUnavailable < 1 || !maps.Equal(texts(match), d.Spec.Selector.MatchLabels) {
			t.Errorf("%s: %+v", name, b)
		}
		delete(several, b.Metadata.Name)
	}
	if len(several) > 0 {
		t.Errorf("%s: no budget for %v", name, several)
	}
	if !all {
		if len(before)+len(open) > 0 {
			t.Errorf("%s: other machines can reach %+v", name, before)
		}
		return
	}
	if len(before) != 2 || len(open) != 1 || len(open[0].Ports) != 2 || open[0].Ports[1].ContainerPort != 8081 {
		t.Fatalf("%+v %+v", before, open)
	}
	service, ingress := before[0], before[1]
	if s := service.Spec; service.Kind != "Service" || service.APIVersion != "v1" || s.Type != "NodePort" || s.Ports[0].Port != 8081 || s.Ports[0].TargetPort != open[0].Ports[1].Name || service.Metadata.Annotations["a"] != "b" {
		t.Errorf("%+v", service)
	}
	rule := ingress.Spec.Rules[0]
	to := rule.HTTP.Paths[0]
	if ingress.Kind != "Ingress" || ingress.APIVersion != "networking.k8s.io/v1" || rule.Host != "reports.example.com" || to.Path != "/" || to.PathType != "Prefix" || ingress.Spec.ClassName != "nginx" ||
		ingress.Spec.TLS[0].Hosts[0] != rule.Host || ingress.Spec.TLS[0].SecretName != "cert" || ingress.Metadata.Annotations["c"] != "d" ||
		to.Backend.Service.Name != service.Metadata.Name || to.Backend.Service.Port.Name != service.Spec.Ports[0].Name {
		t.Errorf("%+v", ingress)
	}
}

// TestChartVersion: the chart, its image and the changelog name the same release.
func TestChartVersion(t *testing.T) {
	t.Parallel()
	var chart struct {
		Version    string
		AppVersion string `yaml:"appVersion"`
	}
	yamlOf(t, read(t, filepath.Join(chartFolder, "Chart.yaml")), &chart)
	newest := regexp.MustCompile(`(?m)^## \[(\d\S*)\]`).FindStringSubmatch(read(t, "../../../CHANGELOG.md"))
	if newest == nil || chart.Version != newest[1] || chart.AppVersion != "v"+newest[1] {
		t.Errorf("Chart.yaml is of %+v, CHANGELOG.md of %v", chart, newest)
	}
}

// proved checks a Deployment and returns the roles of its processes.
func (d deployment) proved(t *testing.T, name string, port, stop int) []string {
	t.Helper()
	spec := d.Spec.Template.Spec
	c := spec.Containers[0]
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" || d.Spec.Replicas < 1 || len(d.Spec.Selector.MatchLabels) != 3 || !selects(d.Spec.Selector.MatchLabels, d.Spec.Template.Metadata.Labels) {
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
	for _, m := range c.VolumeMounts[2:] {
		if secret, ok := strings.CutPrefix(m.Name, "secret-"); ok && (m.MountPath != "/secrets/"+secret || !m.ReadOnly) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if len(mounts) != len(spec.Volumes) || c.VolumeMounts[0].MountPath != "/etc/fanfold" || c.Env[0].Name != "TMPDIR" || c.Env[0].Value != c.VolumeMounts[1].MountPath {
		t.Errorf("%s: %v %+v", name, mounts, spec.Volumes)
	}
	command, rest, err := newRoot(kinds.Standard()).Find(c.Args)
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
