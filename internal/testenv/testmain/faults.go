package testmain

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// faults is the process of internal/testenv/faults, a separate module, with the proxies and storage
// services of one test package.
type faults struct {
	url   string
	stdin io.Closer // closing it ends the process
	cmd   *exec.Cmd
}

// buildTime bounds the first start on a machine, which compiles the module.
const buildTime = 10 * time.Minute

func startFaults() (*faults, error) {
	root, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	dir := filepath.Join(filepath.Dir(strings.TrimSpace(string(root))), "internal", "testenv", "faults")
	// The test cache does not depend on the sources of the process, only on files that the test
	// itself reads.
	if _, err := os.ReadDir(dir); err != nil {
		return nil, err
	}
	f := &faults{cmd: exec.Command("go", "run", "-C", dir, "-tags", "disable_grpc_modules", ".")}
	var failures strings.Builder
	f.cmd.Stderr = &failures
	if f.stdin, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start internal/testenv/faults: %w", err)
	}
	late := time.AfterFunc(buildTime, func() { _ = f.cmd.Process.Kill() })
	defer late.Stop()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		f.stop()
		return nil, fmt.Errorf("start internal/testenv/faults: %w: %s", err, failures.String())
	}
	f.url = "http://" + strings.TrimSpace(addr)
	return f, nil
}

func (f *faults) stop() {
	_ = f.stdin.Close()
	_ = f.cmd.Wait()
}

// sharedFaults returns the package's process, started on first use.
func sharedFaults(t testing.TB) *faults {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.faults == nil {
		f, err := startFaults()
		if err != nil {
			t.Fatal(err)
		}
		shared.faults = f
	}
	return shared.faults
}

// fault is something that the process has created.
type fault struct {
	ID, Addr string
	url      string
}

// make creates a fault that ends with the test.
func (f *faults) make(t testing.TB, what string, query url.Values) fault {
	t.Helper()
	var made fault
	text, err := send(t.Context(), http.MethodPost, f.url+"/"+what+"?"+query.Encode(), "")
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		t.Fatal(err)
	}
	made.url = f.url + "/" + what + "/" + made.ID
	t.Cleanup(made.Close)
	return made
}

// Close ends it. It may be called twice.
func (f fault) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = send(ctx, http.MethodDelete, f.url, "")
}

// Proxy is a TCP proxy in front of a server that breaks connections in ways that servers do not. It
// listens on Addr.
type Proxy struct{ fault }

// NewProxy creates a proxy that ends with the test.
func NewProxy(t testing.TB, upstream string) Proxy {
	t.Helper()
	return Proxy{sharedFaults(t).make(t, "proxies", url.Values{"upstream": {upstream}})}
}

// Poison adds a toxic of toxiproxy, as JSON with a name.
func (p Proxy) Poison(ctx context.Context, toxic string) error {
	_, err := send(ctx, http.MethodPost, p.url+"/toxics", toxic)
	return err
}

// Cure removes a toxic.
func (p Proxy) Cure(ctx context.Context, name string) error {
	_, err := send(ctx, http.MethodDelete, p.url+"/toxics/"+name, "")
	return err
}

// Stop breaks all connections and refuses new ones.
func (p Proxy) Stop(ctx context.Context) error {
	_, err := send(ctx, http.MethodPost, p.url+"/stop", "")
	return err
}

// Start accepts connections again.
func (p Proxy) Start(ctx context.Context) error {
	_, err := send(ctx, http.MethodPost, p.url+"/start", "")
	return err
}

// Storage is a fake of Google Cloud Storage with one bucket. It listens on Addr.
type Storage struct {
	fault
	bucket string
}

// Object is the metadata of an object.
type Object struct {
	Name               string
	ContentType        string
	ContentDisposition string
	Metadata           map[string]string
}

// NewStorage creates a storage service that ends with the test. Clients reach it at public, a host
// and port; empty: at Addr.
func NewStorage(t testing.TB, bucket, public string) Storage {
	t.Helper()
	return Storage{sharedFaults(t).make(t, "storages", url.Values{"bucket": {bucket}, "public": {public}}), bucket}
}

// List returns all objects.
func (s Storage) List(ctx context.Context) ([]Object, error) {
	var all []Object
	for token := ""; ; {
		var page struct {
			Items []Object
			Next  string `json:"nextPageToken"`
		}
		text, err := send(ctx, http.MethodGet, s.objects()+"?pageToken="+url.QueryEscape(token), "")
		if err == nil {
			err = json.Unmarshal(text, &page)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if token = page.Next; token == "" {
			return all, nil
		}
	}
}

// Object returns the metadata of an object.
func (s Storage) Object(ctx context.Context, name string) (Object, error) {
	var o Object
	text, err := send(ctx, http.MethodGet, s.objects()+"/"+url.PathEscape(name), "")
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// Read returns the stored content of an object.
func (s Storage) Read(ctx context.Context, name string) ([]byte, error) {
	return send(ctx, http.MethodGet, s.objects()+"/"+url.PathEscape(name)+"?alt=media", "")
}

func (s Storage) objects() string { return "http://" + s.Addr + "/storage/v1/b/" + s.bucket + "/o" }

// send sends a request to the process over a new connection, so that none is left open.
func send(ctx context.Context, method, address, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Close = true
	request.Header.Set("Accept-Encoding", "gzip") // return stored content without decompression
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %w", method, address, response.Status,
			errors.New(cmp.Or(strings.TrimSpace(string(text)), "no text")))
	}
	return text, err
}
