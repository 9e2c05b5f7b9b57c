package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// checkSink writes and deletes an object.
func checkSink(ctx context.Context, d *doctor) Finding {
	return checkPlace(ctx, "sink", d.Sink, d.OpenSink, func(context.Context, sink.Sink) (string, error) {
		return "an object was written and deleted", nil
	})
}

// checkPlace makes the Check of a place of objects, and then prove, which describes what it did. In the finding, the
// place is a sink or a spool.
func checkPlace(
	ctx context.Context, what string, url report.SinkURL, open func(context.Context) (sink.Sink, error),
	prove func(context.Context, sink.Sink) (string, error),
) Finding {
	s, err := open(ctx)
	if err == nil {
		err = s.Check(ctx)
	}
	check, detail := what+" "+string(url), ""
	if place, ok := s.(sink.Maker); ok && errors.Is(err, fs.ErrNotExist) {
		return newFinding(check, Warn, "", err, place.MakeHint())
	}
	if err == nil {
		detail, err = prove(ctx, s)
	}
	hint := "may this process create and delete objects there?"
	if errors.Is(err, sink.ErrUnfit) {
		hint = ""
	} else if knows, ok := s.(sink.Hinter); ok && err != nil {
		hint = cmp.Or(strings.NewReplacer("sink.", what+".", "the sink", "the "+what).Replace(knows.Hint(err)), hint)
	}
	return newFinding(check, Fail, detail, err, hint)
}

// checkFileColumn compares the length of the file column with the longest names of files.
func checkFileColumn(ctx context.Context, d *doctor) Finding {
	const check, hint = "file column", "change the column to VARCHAR(1024) with ALTER TABLE … MODIFY, or shorten the " +
		"sink or the report's name"
	file, id, err := d.Records.Widths(ctx)
	var place sink.Sink
	if err == nil {
		place, err = d.OpenSink(ctx)
	}
	if err != nil {
		return newFinding(check, Fail, "", err, hint)
	}
	if file == 0 {
		return pass(check, "the database gives no maximum length for it")
	}
	longest, first := "", ""
	for _, name := range slices.Sorted(maps.Keys(d.Config.Reports)) {
		ending := d.Formats.Ending(&d.Config.Reports[name].File)
		if url := place.URL(files.Longest(name, id, ending)); len(url) > len(longest) {
			longest = url
		}
		name := files.Name{Report: name, ID: "1", Attempt: 1, Tag: files.NewTag(), Ending: ending}
		if url := place.URL(name.String()); len(url) > len(first) {
			first = url
		}
	}
	switch {
	case len(first) > file:
		err = fmt.Errorf("it takes %d characters, and the name of a first file has %d, such as %s: its job fails", file,
			len(first), first)
		return newFinding(check, Fail, "", err, hint)
	case len(longest) > file:
		err = fmt.Errorf("it takes %d characters, and the name of a file can have %d, such as %s: its job would fail",
			file, len(longest), longest)
	}
	return newFinding(check, Warn, fmt.Sprintf("it takes %d characters, and names of files have at most %d", file,
		len(longest)), err, hint)
}

func checkScratch(ctx context.Context, _ *doctor) Finding {
	folder, err := files.CheckScratch(ctx)
	return newFinding("scratch files", Fail, "a file was written in "+folder, err, files.ScratchHint)
}
