package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/trace"
	"github.com/fanfold/fanfold/web/problems"
)

// created is the answer for a job that was created or retried.
type created struct {
	ID     string `json:"id"`
	Status string `json:"status"` // addresses
	Events string `json:"events"`
	File   string `json:"file"`
	Page   string `json:"page,omitempty"` // for the person who waits; needs no login
	Pushed bool   `json:"pushed"`         // false: Redis does not answer; the job starts when it does
}

// create inserts the record of a job and pushes its id.
func (a *API) create(w http.ResponseWriter, r *http.Request) error {
	of := a.o.Inspect.Config.Reports[r.PathValue("report")]
	if of == nil || !(rights{a}).visible(r, of.Name) {
		return problem{
			Status: http.StatusNotFound, Code: "report",
			Detail: "there is no report " + report.Shorten(r.PathValue("report")),
			Remedy: "The reports are " + report.Listing(rights{a}.names(r)),
		}
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	body, err := jsonBody(r)
	if err != nil {
		return err
	}
	parameters, err := checkParameters(of, body)
	if err != nil {
		return err
	}
	ctx := trace.WithParent(r.Context(), r.Header.Get(trace.Field))
	who := access.Of(r.Context())
	request := record.Request{Report: of.Name, Parameters: parameters}
	request.Owner, request.Tenant = who.For(of.Name)
	var id string
	var before bool
	if key == "" {
		id, err = a.o.Operate.Jobs.Create(ctx, request)
	} else {
		id, before, err = a.o.Operate.Jobs.CreateOnce(ctx, scoped(who, key), request)
	}
	if id == "" {
		return err
	}
	access.Note(r.Context(), "report", of.Name, "job", id)
	if err != nil { // only the push failed: the job of the record starts without it
		a.o.Log.Warn("record inserted but not pushed; the job starts when Redis answers", "job", id, "err", err)
	}
	if before {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	w.Header().Set("Location", a.url(id, ""))
	return answer(w, http.StatusCreated, a.created(r.Context(), id, err == nil))
}

func (a *API) created(ctx context.Context, id string, pushed bool) created {
	v := created{ID: id, Status: a.url(id, ""), Events: a.url(id, "/events"), File: a.url(id, "/file"), Pushed: pushed}
	if a.o.Page != nil && (rights{a}).handsOut(ctx, id) {
		v.Page = a.o.Page(ctx, id)
	}
	return v
}

// maxKey is the maximum length of an Idempotency-Key.
const maxKey = 200

// idempotencyKey returns the header Idempotency-Key; empty: the request has none.
func idempotencyKey(r *http.Request) (string, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	key := keys[0]
	unprintable := func(c rune) bool { return c < ' ' || c > '~' }
	if len(keys) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, unprintable) {
		return "", problem{
			Status: http.StatusBadRequest, Code: "key",
			Detail: "the Idempotency-Key is not valid",
			Remedy: fmt.Sprintf("Send one key of 1 to %d printable ASCII characters, such as a new UUID", maxKey),
		}
	}
	return key, nil
}

// jsonBody reads the body of a request. It is empty if the request has none.
func jsonBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			return nil, err
		}
		return nil, problem{
			Status: http.StatusBadRequest, Code: "body",
			Detail: "the body is incomplete",
			Remedy: "Send the request again",
		}
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if len(body) > 0 && (err != nil || kind != "application/json") {
		return nil, problem{
			Status: http.StatusUnsupportedMediaType, Code: "type",
			Detail: "the Content-Type of the body is not JSON",
			Remedy: "Send it with Content-Type: application/json",
		}
	}
	if !whole(body) {
		return nil, problem{
			Status: http.StatusBadRequest, Code: "body",
			Detail: "the body has text that is not valid: bytes that are not UTF-8, or half of a surrogate pair such as \\ud800",
			Remedy: "Send UTF-8; write a character outside of the BMP as itself, or as both halves of its pair",
		}
	}
	return body, nil
}

// whole tells whether a JSON text is valid UTF-8 and every escaped surrogate has its other half. The
// decoder would replace what is not by U+FFFD.
func whole(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	unit := func(at int) (rune, bool) { // of \uXXXX
		if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
		return rune(n), err == nil
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch first, ok := unit(i); {
		case !ok:
			i++ // another escape, such as \\
		case utf16.IsSurrogate(first):
			second, _ := unit(i + 6)
			if utf16.DecodeRune(first, second) == utf8.RuneError {
				return false
			}
			i += 11
		default:
			i += 5
		}
	}
	return true
}

// checkParameters returns the parameters of a body as a record stores them, without defaults. The error is a
// problem that names all wrong parameters.
func checkParameters(of *report.Report, body []byte) ([]byte, error) {
	given, err := report.ParameterFields(body)
	if err != nil {
		return nil, problem{
			Status: http.StatusBadRequest, Code: "body",
			Detail: err.Error(),
			Remedy: `Send an object such as {"from": "2024-06-01"}`,
		}
	}
	values, wrong := of.Check(given, time.Now())
	if len(wrong) == 0 {
		return report.EncodeBound(values), nil
	}
	p := problem{
		Status: http.StatusUnprocessableEntity, Code: "parameters",
		Detail: fmt.Sprintf("report %s does not take these parameters", of.Name),
		Remedy: "Correct all of them",
	}
	for _, m := range wrong {
		p.Parameters = append(p.Parameters, problems.BadParameter{
			Name: report.Shorten(m.Name), Detail: "it is " + m.Message, Remedy: m.Remedy,
		})
	}
	return nil, p
}
