package link

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/fanfold/fanfold/web"
)

// liveEvery is how often a stream reads what its page shows.
const liveEvery = 2 * time.Second

// Live sends a part of a page, which is the template name, as server-sent events, whenever it changes. It ends when
// the part will not change any more, or when the link expires. read returns the data of the template; after an error
// the page stays as it is.
func Live(w http.ResponseWriter, r *http.Request, until time.Time, of *template.Template, name string,
	read func() (data any, ended bool, err error)) {
	to := web.NewStream(w)
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for last := ""; to.Err() == nil; {
		data, ended, err := read()
		now := last
		if err == nil {
			var out bytes.Buffer
			if of.ExecuteTemplate(&out, name, data) != nil {
				return
			}
			now = strings.TrimSpace(out.String())
		}
		if now == last {
			_ = to.Beat(0)
		} else {
			_ = to.Send("", now)
			last = now
		}
		if ended || time.Now().After(until) {
			_ = to.Send("end", "end")
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
