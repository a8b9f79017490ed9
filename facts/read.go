package facts

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"edge/internal/canon"
	"edge/internal/fault"
)

// Format is how a file of facts is written; docs/facts.md describes both.
type Format string

// JSONLines has one JSON object a line, CSV a header and one fact a record.
const (
	JSONLines Format = "jsonl"
	CSV       Format = "csv"
)

const maxLine = 1 << 20

// FormatOf is the format that a file's name stands for; another name is invalid_arguments.
func FormatOf(path string) (Format, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".ndjson":
		return JSONLines, nil
	case ".csv":
		return CSV, nil
	}
	return "", fault.New(fault.CodeInvalidArguments, "%s: facts are imported from .jsonl and .csv files", path)
}

// placed is a fact with the line that it came from.
type placed struct {
	Fact
	line int
}

// readAll reads every fact of r. What can't be read is invalid_facts_file with the number of its line.
func readAll(r io.Reader, format Format) (all []placed, err error) {
	in := bufio.NewReader(r)
	if mark, err := in.Peek(3); err == nil && string(mark) == "\ufeff" { // spreadsheets write one
		if _, err := in.Discard(3); err != nil {
			return nil, err
		}
	}
	ids := map[string]placed{}
	take := func(line int, f Fact) error {
		normal, err := f.normal()
		if err != nil {
			return badLine(line, err)
		}
		earlier, seen := ids[normal.ID]
		switch {
		case seen && earlier.equal(normal):
			return nil
		case seen:
			return badLine(line, fmt.Errorf("id %q stands on line %d with other content", normal.ID, earlier.line))
		}
		all = append(all, placed{normal, line})
		ids[normal.ID] = all[len(all)-1]
		return nil
	}
	switch format {
	case JSONLines:
		err = readLines(in, take)
	case CSV:
		err = readCSV(in, take)
	default:
		err = fault.New(fault.CodeInvalidArguments, "facts format %q isn't jsonl or csv", format)
	}
	return all, err
}

func badLine(line int, err error) error {
	return fault.New(fault.CodeInvalidFactsFile, "line %d: %w", line, err)
}

func readLines(in io.Reader, take func(int, Fact) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var f Fact
		if err := canon.Unmarshal(lines.Bytes(), &f); err != nil {
			return badLine(n, err)
		}
		if err := take(n, f); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return badLine(n+1, fmt.Errorf("it is longer than %d bytes", maxLine))
	}
	return lines.Err()
}

func readCSV(in io.Reader, take func(int, Fact) error) error {
	records := csv.NewReader(in)
	header, err := records.Read()
	if errors.Is(err, io.EOF) {
		return badLine(1, errors.New("there is no header"))
	}
	if err != nil {
		return csvError(err)
	}
	known := []string{"text", "id", "source", "tags"}
	for i, name := range header {
		if !slices.Contains(known, name) {
			return badLine(1, fmt.Errorf("column %q isn't one of %s", name, strings.Join(known, ", ")))
		}
		if slices.Contains(header[:i], name) {
			return badLine(1, fmt.Errorf("column %q stands there twice", name))
		}
	}
	if !slices.Contains(header, "text") {
		return badLine(1, errors.New(`there is no column "text"`))
	}
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvError(err)
		}
		line, _ := records.FieldPos(0)
		var f Fact
		for i, name := range header {
			switch name {
			case "text":
				f.Text = record[i]
			case "id":
				f.ID = record[i]
			case "source":
				f.Source = record[i]
			case "tags":
				if strings.TrimSpace(record[i]) != "" {
					f.Tags = strings.Split(record[i], ";")
				}
			}
		}
		if err := take(line, f); err != nil {
			return err
		}
	}
}

// csvError keeps what the parser says and where, and passes on what the reader below it said.
func csvError(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return badLine(parse.Line, parse.Err)
	}
	return err
}
