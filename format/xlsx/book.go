package xlsx

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zip"

	"github.com/fanfold/fanfold/format"
)

// compress is fast: higher levels cost more CPU, and gain little.
var compress = format.Deflate(1)

// sampleBytes are the first bytes of the rows, from which the widths of the columns are taken.
const sampleBytes = 64 << 10

const (
	xmlHead   = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainSpace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	linkSpace = "http://schemas.openxmlformats.org/package/2006/relationships"
	linkTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
)

// book writes the rows into the sheets of a workbook.
type book struct {
	*encoder
	name   string // of the first sheet
	zip    *zip.Writer
	sheet  io.Writer // that is open
	sample []byte    // of the first sheet, which is not open yet; nil: it is
	cols   string    // the widths of the columns
	rows   []int64   // by sheet, with the header
}

var _ format.Parted = (*book)(nil)

// Wrap implements format.Container.
func (e *encoder) Wrap(w io.Writer, t format.Title) (io.WriteCloser, error) {
	b := &book{encoder: e, name: string(e.Sheet), zip: zip.NewWriter(w), sample: []byte{}, rows: []int64{0}}
	if b.name == "" {
		b.name = cleanName(t.Report)
	}
	b.zip.RegisterCompressor(zip.Deflate, compress)
	links := relation(1, "officeDocument", "xl/workbook.xml")
	return b, b.add("_rels/.rels", relations(links)) // a first file by which programs recognize the type
}

// Write writes a piece of the rows.
func (b *book) Write(p []byte) (int, error) {
	b.rows[len(b.rows)-1] += int64(bytes.Count(p, []byte{'\n'}))
	rest := p
	if b.sample != nil {
		n := min(len(p), sampleBytes-len(b.sample))
		if b.sample, rest = append(b.sample, p[:n]...), p[n:]; len(b.sample) < sampleBytes {
			return len(p), nil
		}
		if err := b.endSample(); err != nil {
			return 0, err
		}
	}
	if _, err := b.sheet.Write(rest); err != nil {
		return 0, err
	}
	return len(p), nil
}

// endSample opens the first sheet, and writes the sample.
func (b *book) endSample() error {
	if b.sample == nil {
		return nil
	}
	sample := b.sample
	b.cols, b.sample = b.columnsOf(sample), nil
	if err := b.open(); err != nil {
		return err
	}
	_, err := b.sheet.Write(sample)
	return err
}

// Next implements format.Parted.
func (b *book) Next() error {
	if err := b.end(); err != nil {
		return err
	}
	b.rows = append(b.rows, 0)
	return b.open()
}

// open opens the next sheet.
func (b *book) open() (err error) {
	if b.sheet, err = b.zip.Create(fmt.Sprintf("xl/worksheets/sheet%d.xml", len(b.rows))); err != nil {
		return err
	}
	view, pane := `workbookViewId="0"`, ""
	if len(b.rows) == 1 {
		view = `tabSelected="1" ` + view
	}
	if b.Freeze {
		pane = `<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>`
	}
	_, err = io.WriteString(b.sheet, xmlHead+`<worksheet xmlns="`+mainSpace+`"><sheetViews><sheetView `+view+`>`+pane+
		`</sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/>`+b.cols+`<sheetData>`)
	return err
}

// end writes the rest of a sheet.
func (b *book) end() error {
	if err := b.endSample(); err != nil {
		return err
	}
	filter, area := "", b.area(len(b.rows)-1)
	if b.Filter {
		filter = `<autoFilter ref="` + area + `"/>`
	}
	_, err := io.WriteString(b.sheet, `</sheetData>`+filter+`<ignoredErrors><ignoredError sqref="`+area+
		`" numberStoredAsText="1"/></ignoredErrors></worksheet>`)
	return err
}

// Close writes the last sheet, and what lists the sheets.
func (b *book) Close() error {
	if err := b.end(); err != nil {
		return err
	}
	var sheets, names, links, types strings.Builder
	for i := range b.rows {
		name := b.sheetName(i)
		fmt.Fprintf(&sheets, `<sheet name="%s" sheetId="%d" r:id="rId%d"/>`, quoted(name), i+1, i+1)
		fmt.Fprintf(&names, `<definedName name="_xlnm._FilterDatabase" localSheetId="%d" hidden="1">'%s'!$A$1:$%s$%d`+
			`</definedName>`, i, quoted(strings.ReplaceAll(name, "'", "''")), columnName(len(b.columns)), b.rows[i])
		links.WriteString(relation(i+1, "worksheet", fmt.Sprintf("worksheets/sheet%d.xml", i+1)))
		types.WriteString(mediaType(fmt.Sprintf("worksheets/sheet%d.xml", i+1), "worksheet"))
	}
	links.WriteString(relation(len(b.rows)+1, "styles", "styles.xml"))
	filters := ""
	if b.Filter {
		filters = "<definedNames>" + names.String() + "</definedNames>"
	}
	for _, part := range [][2]string{
		{"xl/styles.xml", b.styles()},
		{"xl/workbook.xml", xmlHead + `<workbook xmlns="` + mainSpace + `" xmlns:r="` + linkTypes + `">` +
			`<bookViews><workbookView/></bookViews><sheets>` + sheets.String() + `</sheets>` + filters + `</workbook>`},
		{"xl/_rels/workbook.xml.rels", relations(links.String())},
		{"[Content_Types].xml", xmlHead + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/>` +
			mediaType("workbook.xml", "sheet.main") + mediaType("styles.xml", "styles") + types.String() + `</Types>`},
	} {
		if err := b.add(part[0], part[1]); err != nil {
			return err
		}
	}
	return b.zip.Close()
}

// add adds a whole file to the archive.
func (b *book) add(name, text string) error {
	w, err := b.zip.Create(name) // without a time
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// sheetName returns the name of a sheet.
func (b *book) sheetName(i int) string {
	if i == 0 {
		return b.name
	}
	number := fmt.Sprintf(" (%d)", i+1)
	return cut(b.name, maxSheetName-len(number)) + number
}

// area returns the cells of a sheet, such as A1:C9.
func (b *book) area(i int) string {
	return fmt.Sprintf("A1:%s%d", columnName(len(b.columns)), b.rows[i])
}

// columnName returns the name of a column from 1: A to Z, AA to XFD.
func columnName(n int) (name string) {
	for ; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}

// mediaType returns the entry of a part of the workbook in [Content_Types].xml.
func mediaType(part, kind string) string {
	const of = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	return fmt.Sprintf(`<Override PartName="/xl/%s" ContentType="%s%s+xml"/>`, part, of, kind)
}

func relation(id int, kind, target string) string {
	return fmt.Sprintf(`<Relationship Id="rId%d" Type="%s/%s" Target="%s"/>`, id, linkTypes, kind, target)
}

func relations(list string) string {
	return xmlHead + `<Relationships xmlns="` + linkSpace + `">` + list + `</Relationships>`
}

// quoted returns a text for an attribute or an element.
func quoted(text string) string {
	return strings.ReplaceAll(string(appendEscaped(nil, []byte(text))), `"`, "&quot;")
}
