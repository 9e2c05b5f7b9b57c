package browser

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
)

// checked are the paths of the pages that check has tested.
var checked sync.Map

// pages are the paths of all pages.
var pages = []string{
	"/", "/jobs", "/jobs/.+", "/records", "/floods", "/dead", "/quarantine", "/listeners", "/sources", "/throughput", "/due",
	"/reports", "/reports/.+", "/audit", "/search", "/confirm", "/select", ".+/pause", ".+/limit", "/nothing",
	"/login", "/o/.+", "/r/.+",
}

// unchecked returns the exit code of all tests: 1 if check has not tested every page, and 0 if only some tests have run.
func unchecked() (code int) {
	if flag.Lookup("test.run").Value.String() != "" {
		return 0
	}
	for _, page := range pages {
		found := false
		checked.Range(func(path, _ any) bool {
			found = regexp.MustCompile("^" + page + "$").MatchString(path.(string))
			return !found
		})
		if !found {
			fmt.Fprintln(os.Stderr, "no test checks the page", page)
			code = 1
		}
	}
	return code
}

// knowsMenu proves that pages has every page of the menu.
func (b tab) knowsMenu() {
	b.t.Helper()
	for _, path := range eval[[]string](b, "[...document.querySelectorAll('header nav a')].map(a => a.pathname)") {
		if !slices.Contains(pages, path) {
			b.t.Errorf("the tests do not know the page %s", path)
		}
	}
}

// misfits is a script that returns what does not fit into a page: a page or a table that scrolls sideways (pictures may,
// the tables with their values are beside them), a text that is cut or leaves its cell, a part of a picture without a
// colour, which is black on a dark page, and on a screen that is no phone an id or a name in a table that is broken over
// two lines.
const misfits = `(() => {
	const found = []
	const say = (e, what) => found.push(what + ': ' + e.outerHTML.replace(/\s+/g, ' ').slice(0, 300))
	if (document.documentElement.scrollWidth > innerWidth) say(document.body, 'the page scrolls sideways')
	for (const e of document.querySelectorAll('svg :is(rect, circle, path, text)')) {
		if (getComputedStyle(e).fill === 'rgb(0, 0, 0)') say(e, 'it has no colour')
	}
	for (const e of document.querySelectorAll('body *')) {
		if (!e.checkVisibility() || e.closest('svg, .unseen, .skip, input, select, textarea, progress')) continue
		const wide = e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0
		if (wide && /auto|scroll/.test(getComputedStyle(e).overflowX)) {
			if (!e.matches('pre, .timeline, .plan, .flow, .graph')) say(e, 'it scrolls sideways')
		} else if (wide && !e.title) say(e, 'it is cut')
		if (!e.matches('th, td')) continue
		if (e.scrollHeight > e.clientHeight + 1) say(e, 'it leaves its cell')
		const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT)
		while (innerWidth > 1000 && texts.nextNode()) {
			const range = document.createRange()
			range.selectNodeContents(texts.currentNode)
			const text = texts.currentNode.data.trim()
			const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top)))
			if (lines.size > 1 && text.length < 25 && !/\s/.test(text)) say(e, 'a word is broken')
		}
	}
	return found
})()`
