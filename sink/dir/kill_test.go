package dir_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/sink"
)

// killedRoot names the directory of the process that is killed.
const killedRoot = "FANFOLD_TEST_KILLED_ROOT"

// killedContents are those of the i-th object of that process.
func killedContents(i int) string { return strings.Repeat(fmt.Sprintf("%06d\n", i), 100_000) }

func killedName(i int) string { return fmt.Sprintf("withdrawals/%d-1.csv", i) }

// TestKilledProcess kills a process that writes, at any instruction: every object is whole, and what is left of the
// others goes with List and Remove.
func TestKilledProcess(t *testing.T) {
	if root := os.Getenv(killedRoot); root != "" {
		write(t, root)
		return
	}
	t.Parallel()
	left := 0
	for range 15 {
		root := t.TempDir()
		p := openDirAt(t, root)
		child := exec.Command(os.Args[0], "-test.run", "^TestKilledProcess$")
		child.Env = append(os.Environ(), killedRoot+"="+root)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); len(files(t, root)) == 0 && time.Now().Before(deadline); {
			<-time.After(time.Millisecond)
		}
		<-time.After(rand.N(30 * time.Millisecond))
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		objects := map[string]bool{}
		for f, err := range p.Sink.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if f.Name == f.Object {
				objects[f.Name] = true
				continue
			}
			left++
			if err := p.Sink.Remove(t.Context(), f.Name); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.List(t); len(got) != len(objects) {
			t.Fatalf("the place has %q, List gave %v", got, objects)
		}
		for i := range len(objects) + 1 {
			if name := killedName(i); objects[name] && !bytes.Equal(p.Read(t, name), []byte(killedContents(i))) {
				t.Fatalf("%s is not whole", name)
			}
		}
	}
	if left == 0 {
		t.Error("no process was killed in the middle of a write")
	}
}

// write writes objects until the process is killed.
func write(t *testing.T, root string) {
	p := openDirAt(t, root)
	for i := range 200 {
		w, err := p.Sink.Create(t.Context(), sink.Object{Name: killedName(i)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(killedContents(i))); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}
