package fanfold_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

const module = "github.com/fanfold/fanfold"

// room is a package of the module, as go list tells.
type room struct {
	ImportPath string
	Dir        string
	Imports    []string // without those of its tests
	Deps       []string // all that it links, without its tests
}

// house lists the packages of the module, with the build tag of the Makefile.
var house = sync.OnceValues(func() ([]room, error) {
	out, err := exec.Command("go", "list", "-tags", "disable_grpc_modules", "-json=ImportPath,Dir,Imports,Deps", "./...").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, errors.New(string(failed.Stderr))
	} else if err != nil {
		return nil, err
	}
	var rooms []room
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var r room
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return rooms, nil
		} else if err != nil {
			return nil, err
		}
		rooms = append(rooms, r)
	}
})

func listHouse(t *testing.T) []room {
	t.Helper()
	rooms, err := house()
	if err != nil {
		t.Fatal(err)
	}
	// What go list has read go test does not see; it repeats a cached result until
	// something changes that the test itself has looked at.
	for _, r := range rooms {
		if _, err := os.ReadDir(r.Dir); err != nil {
			t.Fatal(err)
		}
	}
	return rooms
}

// within tells whether a package is that one or one below it.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// The core imports nothing of ours, the roles meet only in Redis, and only the command
// reads a configuration.
func TestRoomsAreApart(t *testing.T) {
	t.Parallel()
	rooms := listHouse(t)
	for room, apart := range map[string][]string{
		"/report":         {""},
		"/scripts":        {"/config", "/engine", "/listeners", "/scheduler", "/inspect", "/internal/ask", "/internal/mysqldb", "/internal/quiet", "/step", "/internal/testenv", "/cmd"},
		"/scripts/job":    {"/scripts", "/config", "/dataset", "/fold", "/format", "/engine", "/listeners", "/scheduler", "/inspect", "/internal", "/cmd"},
		"/dataset":        {"/config", "/fold", "/format", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/internal", "/cmd"},
		"/format":         {"/config", "/fold", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/internal", "/cmd"},
		"/fold":           {"/config", "/format", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/internal", "/cmd"},
		"/config/decode":  {"/dataset", "/format", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/internal", "/cmd"},
		"/config":         {"/format", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/internal", "/cmd"},
		"/engine":         {"/config", "/listeners", "/scheduler", "/inspect"},
		"/engine/files":   {"/engine/fanin", "/engine/recovery", "/engine/trigger"},
		"/engine/fanin":   {"/engine/recovery", "/engine/trigger"},
		"/engine/trigger": {"/engine/fanin", "/engine/recovery"},
		"/dialect":        {"/dataset", "/fold", "/format", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/internal", "/cmd"},
		"/listeners":      {"/config", "/engine", "/scheduler", "/inspect"},
		"/scheduler":      {"/config", "/engine", "/listeners", "/inspect"},
		"/dashboard":      {"/config", "/listeners", "/scheduler", "/cmd", "/inspect/doctor"},
		"/waiting":        {"/config", "/listeners", "/scheduler", "/inspect/doctor", "/dashboard", "/operate", "/api", "/cmd"},
		"/operate":        {"/config", "/listeners", "/scheduler", "/inspect/doctor", "/dashboard", "/cmd"},
		"/api":            {"/config", "/listeners", "/scheduler", "/inspect/doctor", "/dashboard", "/cmd"},
		"/inspect":        {"/config", "/listeners", "/scheduler", "/inspect/doctor", "/operate", "/cmd"},

		"/step":             {"/config", "/dataset", "/fold", "/format", "/engine", "/listeners", "/scheduler", "/inspect", "/cmd"},
		"/internal/mysqldb": {"/config", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/cmd"},
		"/web":              {"/config", "/listeners", "/scheduler", "/inspect", "/dashboard", "/waiting", "/api", "/cmd"},
		"/internal/redisdb": {"/config", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/cmd"},
		"/internal/screen":  {""},
		"/internal/words":   {""},
		"/internal/aged":    {""},
		"/internal/quiet":   {"/config", "/report", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/cmd"},
		"/trace":            {"/config", "/engine", "/listeners", "/scheduler", "/inspect", "/cmd"},
		"/cmd/fanfold/demo": {"/config", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect"},
		"/internal/ask":     {""},
		"/internal/fault":   {""},
		"/internal/group":   {""},
		"/scripts/past":     {"/config", "/engine", "/listeners", "/scheduler", "/inspect", "/cmd"},

		"/cmd/fanfold/starter": {"/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/cmd/fanfold/process"},
		"/internal/processors": {""},
		"/internal/access":     {"/config", "/scripts", "/engine", "/listeners", "/scheduler", "/inspect", "/dashboard", "/cmd"},
	} {
		found := false
		for _, r := range rooms {
			if !within(r.ImportPath, module+room) {
				continue
			}
			found = true
			for _, d := range r.Deps {
				if slices.ContainsFunc(apart, func(other string) bool { return within(d, module+other) }) && !bringsFields(room, d) {
					t.Errorf("%s links %s", r.ImportPath, d)
				}
			}
		}
		if !found {
			t.Errorf("there is no package %s", module+room)
		}
	}
}

// bringsFields reports whether a package is one with which the kinds of a room bring their own fields
// to a configuration, which they do not read.
func bringsFields(room, path string) bool {
	return (room == "/listeners" || room == "/scheduler") && (path == module+"/config/decode" || path == module+"/config/kind")
}

// sharedLibraries are those that kinds have in common with other packages.
var sharedLibraries = []string{
	"github.com/go-sql-driver/mysql", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgtype",
	"github.com/klauspost/compress/flate", "github.com/klauspost/compress/zip", "github.com/klauspost/compress/zstd",
	"go.yaml.in/yaml/v4",
}

// What a kind imports from elsewhere, and the SDK of OpenTelemetry, is heavy: one package has each, and the command.
func TestWhoLinksSDKs(t *testing.T) {
	t.Parallel()
	sdks := map[string]string{"go.opentelemetry.io/otel/sdk": "/trace/otlp"}
	kind := regexp.MustCompile(`^/(format|sink|listeners|scheduler/action)/\w+$`)
	for _, r := range listHouse(t) {
		room := strings.TrimPrefix(r.ImportPath, module)
		if !kind.MatchString(room) || strings.HasSuffix(room, "test") {
			continue
		}
		for _, i := range r.Imports {
			host, _, _ := strings.Cut(i, "/")
			if strings.Contains(host, ".") && !within(i, module) && !slices.Contains(sharedLibraries, i) {
				sdks[i] = room
			}
		}
	}
	if sdks["cloud.google.com/go/storage"] != "/sink/gcs" {
		t.Errorf("the SDKs of kinds are %v", sdks)
	}
	for sdk, has := range sdks {
		want := []string{"/cmd/fanfold", "/cmd/fanfold/command", "/cmd/fanfold/kinds", "/cmd/fanfold/process", has}
		want = append(want, "/cmd/fanfold/e2e", "/cmd/fanfold/installation") // they read configurations
		if sdk == "go.opentelemetry.io/otel/sdk" {
			want = append(want, "/sink/gcs") // for metrics of its own
		}
		var got []string
		for _, r := range listHouse(t) {
			if slices.ContainsFunc(r.Deps, func(d string) bool { return within(d, sdk) }) {
				got = append(got, strings.TrimPrefix(r.ImportPath, module))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s is linked by %q, want %q", sdk, got, want)
		}
	}
}

// What only tests need is no part of the product.
func TestCommandLinksNoTests(t *testing.T) {
	t.Parallel()
	rooms := listHouse(t)
	i := slices.IndexFunc(rooms, func(r room) bool { return r.ImportPath == module+"/cmd/fanfold" })
	if i < 0 {
		t.Fatal("there is no command")
	}
	for _, d := range rooms[i].Deps {
		for _, not := range []string{
			"testing", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/fsouza/fake-gcs-server",
			"github.com/google/go-cmp", "github.com/getkin/kin-openapi", module + "/internal/testenv/testmain", module + "/sink/sinktest",
			module + "/listeners/listenertest", module + "/format/formattest", module + "/scheduler/action/actiontest", module + "/dataset/datasettest",
			module + "/sink/s3/s3test",
		} {
			if within(d, not) {
				t.Errorf("the command links %s", d)
			}
		}
	}
}

// What only tests need, and is heavy, is in a module of its own: it is in nobody's graph.
func TestTestServersAreAModuleApart(t *testing.T) {
	t.Parallel()
	graph, err := exec.Command("go", "mod", "graph").Output()
	if err != nil {
		t.Fatal(err)
	}
	for not, into := range map[string]string{
		"github.com/fsouza/fake-gcs-server": "internal/testenv/faults", "github.com/Shopify/toxiproxy": "internal/testenv/faults",
		"github.com/prometheus/prometheus@": "deploy/check", "github.com/chromedp": "dashboard/browser",
		"github.com/xuri/excelize": "format/formattest/readers",
		"github.com/minio/minio@":  ".ci/servers",
	} {
		if strings.Contains(string(graph), not) {
			t.Errorf("the module needs %s: put what uses it into %s", not, into)
		}
	}
	// What go mod graph has read go test does not see.
	if _, err := os.ReadFile("go.mod"); err != nil {
		t.Fatal(err)
	}
}

// TestPackageDocsNameFilesThatExist: the doc.go of a package is where readers begin.
func TestPackageDocsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`[\w/]+\.(go|lua)\b`)
	for _, r := range listHouse(t) {
		text, err := os.ReadFile(filepath.Join(r.Dir, "doc.go"))
		if err != nil {
			continue
		}
		for _, file := range named.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.Join(r.Dir, file)); err != nil {
				t.Errorf("%s/doc.go names %s, which does not exist", r.ImportPath, file)
			}
		}
	}
}

// TestGuaranteesNameTestsThatExist looks for every test that the documentation
// names.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	var sources strings.Builder
	for _, r := range listHouse(t) {
		files, err := filepath.Glob(filepath.Join(r.Dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(text)
		}
	}
	for _, page := range []string{"docs/explanation/guarantees.md", "docs/explanation/what-a-query-sees.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
		if len(names) < 10 {
			t.Fatalf("%s names only %d tests", page, len(names))
		}
		for _, name := range names {
			if !strings.Contains(sources.String(), "func "+name[1]+"(") {
				t.Errorf("%s is named in %s and is not there", name[1], page)
			}
		}
	}
}

// TestTypesAreSmall: a type with more than 15 methods is several types.
func TestTypesAreSmall(t *testing.T) {
	t.Parallel()
	const most = 15
	for _, r := range listHouse(t) {
		files, err := filepath.Glob(filepath.Join(r.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		methods := map[string]int{} // by type
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
					methods[receiver(f.Recv.List[0].Type)]++
				}
			}
		}
		for name, n := range methods {
			if n > most {
				t.Errorf("%s.%s has %d methods: cut it into types of at most %d", r.ImportPath, name, n, most)
			}
		}
	}
}

// TestLinesAreShort: a line longer than 120 characters, where a tab counts as four, needs a reason. The one
// reason is a text of 60 characters or more: a message that somebody searches for is not cut.
func TestLinesAreShort(t *testing.T) {
	t.Parallel()
	const most, text = 120, 60
	long := regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`?")
	for _, r := range listHouse(t) {
		files, err := filepath.Glob(filepath.Join(r.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(source), "\n") {
				width := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
				isLong := func(literal string) bool { return utf8.RuneCountInString(literal) >= text }
				if width > most && !slices.ContainsFunc(long.FindAllString(line, -1), isLong) {
					t.Errorf("%s:%d has %d characters: break it, or give its texts a name", file, i+1, width)
				}
			}
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// behindTheDoor are the packages that may use the client of Redis, and why. All others go through the
// handles of scripts.
var behindTheDoor = map[string]string{
	"/scripts":          "the door",
	"/step":             "blocking reads of streams",
	"/internal/redisdb": "makes the clients",

	"/cmd/fanfold/command": "tells users what an answer of Redis means",
	"/cmd/fanfold/process": "opens the clients and passes them on",
	"/engine":              "passes the blocking client to step",
	"/listeners":           "passes the blocking client to step",
	"/scheduler":           "keyspace notifications; passes the blocking client to step",
	"/engine/recovery":     "moves keys between two servers; watches keys on a connection of its own",
	"/api":                 "tells an answer of Redis from an outage",
	"/internal/quiet":      "hooks of the client",
	"/cmd/fanfold/demo":    "stands for a service of the user",
	"/internal/testenv":    "servers for tests",

	"/cmd/fanfold/e2e":          "servers for tests",
	"/cmd/fanfold/installation": "servers for tests",

	"/examples/external/go": "stands for a service of the user",
}

// TestRedisHasOneDoor: a package that calls Redis itself needs a reason.
func TestRedisHasOneDoor(t *testing.T) {
	t.Parallel()
	const client = `"github.com/redis/go-redis/v9"`
	used := map[string]bool{}
	for _, r := range listHouse(t) {
		files, err := filepath.Glob(filepath.Join(r.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") || !strings.Contains(string(text), client) {
				continue
			}
			room := strings.TrimPrefix(r.ImportPath, module)
			if used[room] = true; behindTheDoor[room] == "" {
				t.Errorf("%s uses the client of Redis: add a method to a handle of scripts", file)
			}
		}
	}
	for room := range behindTheDoor {
		if !used[room] {
			t.Errorf("%s no longer uses the client of Redis: remove it from behindTheDoor", room)
		}
	}
}

// TestMetricsAreInTheirFiles: the metrics of a package are in its metrics.go, where the next one is added.
func TestMetricsAreInTheirFiles(t *testing.T) {
	t.Parallel()
	made := regexp.MustCompile(`prometheus\.(CounterOpts|GaugeOpts|HistogramOpts|SummaryOpts|NewDesc)\b`)
	for _, r := range listHouse(t) {
		files, err := filepath.Glob(filepath.Join(r.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name := filepath.Base(file); name == "metrics.go" || strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if made.Match(text) {
				t.Errorf("%s makes a metric: move it into metrics.go of its package", file)
			}
		}
	}
}

// TestKindsAreNamedInTheirPackages: what another kind would have to change is not spread over files.
// The demo has a configuration of its own, init prints the name of a file to download, and the rows of a test are CSV.
func TestKindsAreNamedInTheirPackages(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("(?m)^[^/\n]*[\"`][^\"`\n]*(\\.csv|gs://|s3://|file://|Google|\\bCSV\\b)")
	home := []string{"/format", "/sink", "/bench", "/cmd/fanfold/demo", "/cmd/fanfold/fixture", "/cmd/fanfold/e2e", "/cmd/fanfold/installation"}
	for _, r := range listHouse(t) {
		if slices.ContainsFunc(home, func(room string) bool { return within(r.ImportPath, module+room) }) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(r.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if slices.Contains([]string{"demo.go", "init.go", "test.go"}, filepath.Base(file)) || strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := named.FindString(string(text)); found != "" {
				t.Errorf("%s names a kind: %s", file, strings.TrimSpace(found))
			}
		}
	}
}
