package command

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/report"
)

// mount puts the stack's sink onto its own file system of 256 KB.
func mount(s *e2e.Stack) (folder string) {
	s.Helper()
	folder = s.Dir + "/files"
	if err := os.MkdirAll(folder, 0o750); err != nil {
		s.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=256k"); err != nil {
		s.Skipf("NOT TESTED, since no file system can be mounted here (%v): run as root with CAP_SYS_ADMIN", err)
	}
	s.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
	return folder
}

// remount changes the flags of the sink's file system.
func remount(s *e2e.Stack, folder string, flags uintptr) {
	s.Helper()
	s.Eventually("remounted", func() bool { // it is busy while a file is open for writing
		return syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT|flags, "size=256k") == nil
	})
}

// TestASinkWithoutRoom: a full or read-only sink is an outage: no try is used, doctor and /readyz
// say how to correct it, and the file is made when there is space again.
func TestASinkWithoutRoom(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  who:
    parameters: {who: string}
    retry: {retries: 1, delay: 100ms}
    listeners: {one: {database: db, query: "SELECT :who AS who, 0 AS v"}}
  large:
    retry: {retries: 1, delay: 100ms}
    listeners: {two: {database: db, query: "SELECT seq AS k, REPEAT('x', 100) AS v FROM seq_1_to_1000"}}
`, "limits: {lease: 1s}")
	folder := mount(s.Stack)
	b := s.Open(s.File)
	b.Config.Admin.Listen = e2e.Address(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.Serve(ctx, process.Roles, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	ready := func() bool { code, _ := e2e.Get(t, b.Config.Admin.Listen, "/readyz"); return code == http.StatusOK }
	s.Eventually("ready", ready)
	filler := folder + "/filler"
	for name, c := range map[string]struct {
		report         string
		breaks, mends  func()
		reason, remedy string
	}{
		"full": {
			"large",
			func() {
				if err := os.WriteFile(filler, bytes.Repeat([]byte("x"), 200<<10), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			func() {
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
			},
			"no space left on device", "free space on " + folder,
		},
		"read-only": {
			"who",
			func() { remount(s.Stack, folder, syscall.MS_RDONLY) }, func() { remount(s.Stack, folder, 0) },
			"read-only file system", "remount " + folder + " so that it can be written",
		},
	} {
		c.breaks()
		id := s.Records.Insert(c.report, map[string]string{"who": `{"who": "x"}`, "large": ""}[c.report])
		s.Jobs.Push(id)
		s.Eventually(name+": some tries", func() bool { n, _ := s.Jobs.Retries(id, "@fanin"); return n > 3 })
		var state string
		s.Eventually(name+": not ready", func() bool {
			code, text := e2e.Get(t, b.Config.Admin.Listen, "/readyz")
			state = text
			return code == http.StatusServiceUnavailable
		})
		for _, text := range []string{state, s.Redis.HGet(t.Context(), s.Partitions.First().Keys.Job(id), "@fanin:error").Val()} {
			if !strings.HasPrefix(text, "sink: ") || strings.Count(text, "sink:") != 1 || strings.Count(text, c.reason) != 1 || !strings.HasSuffix(strings.TrimSpace(text), c.remedy) {
				t.Errorf("%s: %q", name, text)
			}
		}
		if name == "read-only" {
			if f := s.finding("sink"); f.Result != doctor.Fail || !strings.Contains(f.Detail, c.remedy) {
				t.Errorf("%s: %+v", name, f)
			}
		}
		c.mends()
		if v := s.Jobs.Wait(id)[0]; v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%s: %+v", name, v)
		}
		if _, counted := s.Jobs.Retries(id, "@fanin"); counted != 0 {
			t.Errorf("%s: %d tries were used", name, counted)
		}
		s.Eventually(name+": ready again", ready)
		if f := s.finding("sink"); f.Result != doctor.Pass {
			t.Errorf("%s: %+v", name, f)
		}
	}
	s.Jobs.Idle()
	if left := e2e.Agree(s.Stack); left != "" {
		t.Error(left)
	}
}

// TestASinkThatIsTaken: if something else has the name of a file, it stays unchanged, the job fails
// and its error names it, and the next attempt uses another name.
func TestASinkThatIsTaken(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Who, "limits: {lease: 1s}")
	victim := filepath.Join(s.Dir, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.Dir+"/files/who", 0o750); err != nil {
		t.Fatal(err)
	}
	s.Serve(s.File)
	for what, put := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(victim, path) },
		"a folder":        func(path string) error { return os.MkdirAll(path+"/below", 0o750) },
		"a file":          func(path string) error { return os.WriteFile(path, []byte("foreign"), 0o600) },
	} {
		id := s.Records.Insert("who", e2e.WhoParameters("x", 0))
		path := s.Dir + "/files/" + s.Files.Named("who", id, 1)
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		s.Jobs.Push(id)
		v := s.Jobs.Wait(id)[0]
		if v.Status != report.Failed || !strings.HasPrefix(v.Error, "sink: "+path+" is taken: "+what) || !strings.Contains(v.Error, "fanfold retry "+id) {
			t.Errorf("%s: %+v", what, v)
		}
		s.Jobs.Idle()
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) || after.Size() != before.Size() {
			t.Errorf("%s is not what it was: %v", what, err)
		}
		if out, code := s.fanfold("retry", "--wait", id); code != exitOK {
			t.Errorf("%s: %d %s", what, code, out)
		}
		if v := s.Jobs.Wait(id)[0]; s.Files.Content(v) != e2e.WhoFile("x") || v.Attempt != 2 {
			t.Errorf("%s: %+v", what, v)
		}
		if what != "a file" { // one of this name is taken for a file of the first attempt by then
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("%s is gone after the retry: %v", what, err)
			}
		}
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("%q %v", text, err)
	}
}

// TestModesOfFiles: only the owner and the group can read files.
func TestModesOfFiles(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Who)
	s.Serve(s.File)
	v := s.Jobs.Run("who", e2e.WhoParameters("x", 0))
	s.Files.Content(v)
	file := strings.TrimPrefix(v.File, "file://")
	for path, most := range map[string]fs.FileMode{
		file: 0o640, file + ".manifest.json": 0o640, filepath.Dir(file): 0o750, s.Dir + "/files": 0o750, filepath.Dir(file) + "/.tmp": 0o750,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&^most != 0 || mode&0o600 != 0o600 {
			t.Errorf("%s has the mode %o", path, mode)
		}
	}
}

// TestDoctorOfFiles: doctor creates neither folders nor the tag of the installation.
func TestDoctorOfFiles(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Who)
	if f := s.finding("sink"); f.Result != doctor.Warn || !strings.Contains(f.Hint, "mkdir -p "+s.Dir+"/files") {
		t.Errorf("%+v", f)
	}
	if _, err := os.Stat(s.Dir + "/files"); err == nil {
		t.Error("doctor has made the folder")
	}
	if f := s.finding("installation"); f.Result != doctor.Pass || !strings.Contains(f.Detail, "no tag yet") {
		t.Errorf("%+v", f)
	}
	if tag := s.Files.Tag(); s.finding("installation").Detail != "its files have the tag "+tag {
		t.Errorf("not %s: %+v", tag, s.finding("installation"))
	}
	s.Records.Exec("RENAME TABLE fanfold_meta TO elsewhere")
	if f := s.finding("installation"); f.Result != doctor.Warn || !strings.Contains(f.Hint, "fanfold migrate") {
		t.Errorf("%+v", f)
	}
	s.Records.Exec("RENAME TABLE elsewhere TO fanfold_meta")
	longest := len("file://"+s.Dir+"/files/") + len("who/-4294967295-abc234.csv") + 20
	for characters, want := range map[int]string{20: doctor.Fail, longest - 1: doctor.Warn, longest: doctor.Pass} {
		s.Records.Exec("ALTER TABLE file_download_record MODIFY file VARCHAR(" + strconv.Itoa(characters) + ") NULL")
		if f := s.finding("file column"); f.Result != want || want != doctor.Pass && f.Hint == "" {
			t.Errorf("%d characters: %+v", characters, f)
		}
	}
}
