package main

import (
	"archive/zip"
	"encoding/xml"
	"strconv"
	"strings"
	"time"
)

// sheet is a sheet of a workbook.
type sheet struct {
	name string
	rows [][]cell
}

// cell is a cell: a text, a boolean or a number, which its format may show as a date. Without a value, it is empty.
type cell struct {
	Value  string // a date is the number of days since 1899-12-30
	Kind   string // inlineStr, b, or empty: a number
	Format string // of a number, such as 0.00
}

// String formats a cell as a spreadsheet shows it.
func (c cell) String() string {
	days, err := strconv.ParseFloat(c.Value, 64)
	if err != nil || !strings.Contains(c.Format, "yy") {
		return c.Value
	}
	seconds := time.Duration(days*24*60*60+0.5) * time.Second
	at := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).Add(seconds)
	if !strings.Contains(c.Format, "hh") {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.DateTime)
}

// read reads all sheets of a workbook whose texts are in its cells.
func read(file string) ([]sheet, error) {
	book, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer book.Close()
	part := func(name string, into any) error {
		in, err := book.Open("xl/" + name)
		if err != nil {
			return err
		}
		defer in.Close()
		return xml.NewDecoder(in).Decode(into)
	}
	var index struct {
		Sheets []struct {
			Name string `xml:"name,attr"`
			Link string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var links struct {
		Relationship []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		}
	}
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			ID int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	for name, into := range map[string]any{
		"workbook.xml": &index, "_rels/workbook.xml.rels": &links, "styles.xml": &styles,
	} {
		if err := part(name, into); err != nil {
			return nil, err
		}
	}
	targets, codes := map[string]string{}, map[int]string{}
	for _, l := range links.Relationship {
		targets[l.ID] = l.Target
	}
	for _, f := range styles.Formats {
		codes[f.ID] = f.Code
	}
	var sheets []sheet
	for _, s := range index.Sheets {
		var found struct {
			Rows []struct {
				Cells []struct {
					Kind  string `xml:"t,attr"`
					Style int    `xml:"s,attr"`
					Value string `xml:"v"`
					Text  string `xml:"is>t"`
				} `xml:"c"`
			} `xml:"sheetData>row"`
		}
		if err := part(targets[s.Link], &found); err != nil {
			return nil, err
		}
		rows := make([][]cell, len(found.Rows))
		for i, row := range found.Rows {
			for _, c := range row.Cells {
				rows[i] = append(rows[i], cell{c.Value + c.Text, c.Kind, codes[styles.Cells[c.Style].ID]})
			}
		}
		sheets = append(sheets, sheet{s.Name, rows})
	}
	return sheets, nil
}
